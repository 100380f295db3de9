# SPDX-License-Identifier: MIT
"""The profiles of local servers, and ``openai-compatible`` for every other server.

A module has one name, ``PROFILE``, and is loaded when its provider is asked for. No local
server needs a key; a key that is given, or set in the environment, is sent.
"""
