# SPDX-License-Identifier: MIT
"""JSON schemas: made from a function's hints and docstring, and used to check arguments.

``signature`` and ``docstring`` read a function. ``schema`` checks a schema, and checks values
against a schema. ``items`` completes the arrays of a schema.
"""
