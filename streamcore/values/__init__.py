# SPDX-License-Identifier: MIT
"""Values: the plain data types that all other rooms use. Nothing here does I/O.

Errors, limits, messages, chunks, calls and usage; strict JSON, frozen containers and masking
of secrets; the chunk grammar, the retry policy, and JSON schemas made from functions. Clock,
sleep and random are arguments with real defaults.
"""
