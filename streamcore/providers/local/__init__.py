# SPDX-License-Identifier: MIT
"""The profiles of servers that one runs oneself, and the one for everything else.

A module has one name, ``PROFILE``, and is loaded when its provider is asked for. No local
server needs a key; a key that is given or set is sent.
"""
