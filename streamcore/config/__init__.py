# SPDX-License-Identifier: MIT
"""Configuration: defaults < file < environment < flags, every value with its origin.

``ini`` turns a file into entries with line numbers. ``values`` turns texts into values, units
included. ``settings`` lists the settings. ``layers`` turns a file, variables and overrides into
layers of checked values. ``choice`` finds the values that count for the chosen provider.
``config`` holds the result and makes clients from it. ``explain`` shows each value and its origin.
Refused with ``INVALID_CONFIG``: values that are not valid; the error names the place. The
environment is read only through the mapping that ``Config.load`` is given.

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

Sections: ``[streamcore]``, ``[provider NAME]``, ``[limits]``, ``[retry]``, ``[agent]``. A NAME
without a profile defines a provider of your own, which needs a ``base_url``. Variables:
``STREAMCORE_MODEL``, ``STREAMCORE_LIMITS_IDLE_TIMEOUT``, ``STREAMCORE_PROVIDER_OPENAI_HEADERS``;
``STREAMCORE_CONFIG`` names the file. An empty variable is ignored.
"""

from __future__ import annotations

from .config import Config
from .explain import Explained

__all__ = ["Config", "Explained"]
