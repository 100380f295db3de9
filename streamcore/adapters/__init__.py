# SPDX-License-Identifier: MIT
"""A way to a provider: dialect, transport and profile joined.

In: an ``LlmRequest``. Out: its chunk stream. What is wrong locally (a key, an
address, a body that cannot be written) is refused at ``stream()``, before the
transport is touched; the network is touched at the first pull. One snapshot of
the settings serves the whole stream, so a request never mixes two generations.

``http``: settings and the adapter. ``headers``: what goes on the wire beside the body,
the key among it. ``attempt``: one dispatch. ``secrets``: what no text may show. ``carried``:
where a caller's session and proxies have more of these.
"""

from __future__ import annotations

from .http import Credential, HttpAdapter, HttpSettings, LlmAdapter

__all__ = ["Credential", "HttpAdapter", "HttpSettings", "LlmAdapter"]
