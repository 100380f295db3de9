# SPDX-License-Identifier: MIT
"""Configuration: defaults < file < environment < flags, every value with its origin.

``ini``: a file becomes entries with line numbers. ``values``: texts become values, units
included. ``settings``: which settings there are. ``layers``: a file, variables and overrides
become layers of checked values. ``choice``: what the layers come to for the chosen provider.
``config``: the result, and what is made from it. ``explain``: each value and its origin.
Refused with ``INVALID_CONFIG``: whatever cannot be, naming its place. The environment is
read only through the mapping ``Config.load`` is given.

The file::

    # a comment has a line of its own
    [streamcore]
    provider = openai
    model = gpt-5

    [provider openai]
    api_key_env = MY_KEY
    headers =
        X-Title: my tool

    [limits]
    idle_timeout = 2m

Sections: ``[streamcore]``, ``[provider NAME]``, ``[limits]``, ``[retry]``, ``[agent]``; a
NAME that no profile has is a provider of one's own and needs a ``base_url``. Variables:
``STREAMCORE_MODEL``, ``STREAMCORE_LIMITS_IDLE_TIMEOUT``, ``STREAMCORE_PROVIDER_OPENAI_HEADERS``;
``STREAMCORE_CONFIG`` names the file. An empty variable is none.
"""

from __future__ import annotations

from .config import Config
from .explain import Explained

__all__ = ["Config", "Explained"]
