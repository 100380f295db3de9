# SPDX-License-Identifier: MIT
"""The pattern of an HTTP header's name."""

from __future__ import annotations

import re

HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A ``token`` of RFC 9110, section 5.6.2."""
