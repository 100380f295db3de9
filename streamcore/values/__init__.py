# SPDX-License-Identifier: MIT
"""Values: what the other rooms speak in. Nothing here does I/O.

Errors, limits, messages, chunks, calls, usage; strict JSON, frozen containers, masking of
secrets; the chunk grammar, the retry policy, and JSON schemas made from functions. Clock,
sleep and random come in as arguments with real defaults.
"""
