# SPDX-License-Identifier: MIT
"""JSON schemas: made from a function's hints and docstring, and checked against.

``signature`` and ``docstring`` read a function. ``schema`` checks a schema itself, and
values against one.
"""
