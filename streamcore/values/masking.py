# SPDX-License-Identifier: MIT
"""Secrets masked in settings before the settings are recorded.

In: a config as it would be sent, with headers, addresses and the caller's own
fields. Out: a plain copy in which each value under a secret's name is ``***``.
Only names that mean a secret count. ``max_tokens`` stays, and so does a schema's
property called ``token``, so the request can still be rebuilt.
"""

from __future__ import annotations

import re
from typing import Any, Mapping

from .redaction import MASK, is_secret_field, redact, redact_headers

_HEADERS_NAME = re.compile(r"(?:.*_)?headers")


def mask_config(value: Any) -> Any:
    """Return a plain copy of ``value`` in which every secret is masked.

    Masked: values under names such as ``api_key``, ``password`` or ``token``;
    headers that carry a secret, under names that end in ``headers``;
    credentials inside an address. An unset value (None, "") stays as it is.
    """
    if isinstance(value, Mapping):
        return {key: _mask_item(key, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [mask_config(item) for item in value]
    if isinstance(value, str) and "://" in value:
        return redact(value)
    return value


def _mask_item(key: Any, item: Any) -> Any:
    name = key.lower().replace("-", "_") if isinstance(key, str) else ""
    if _HEADERS_NAME.fullmatch(name):
        return _mask_headers(item)
    if is_secret_field(name) and not isinstance(item, (Mapping, bool, int, float)):
        return MASK if item else item
    return mask_config(item)


def _mask_headers(headers: Any) -> Any:
    if isinstance(headers, Mapping):
        texts = {str(name): _text(value) for name, value in headers.items()}
        return {name: redact(value) for name, value in redact_headers(texts)}
    if isinstance(headers, (list, tuple)):  # pairs
        return [
            list(_mask_headers({item[0]: item[1]}).items())[0]
            if isinstance(item, (list, tuple)) and len(item) == 2 else mask_config(item)
            for item in headers
        ]
    return mask_config(headers)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
