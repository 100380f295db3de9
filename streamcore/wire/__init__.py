# SPDX-License-Identifier: MIT
"""The wire: body bytes to chunks, chunks to a message, and messages to a request body.

All of it is pure: bytes come in as arguments, and nothing is opened, waited for or sent.

    sse         bytes → events
    dialects    events → chunks; a request → its body
    failures    an error answer → the failure it means
    toolcalls   fragments of arguments → whole tool calls
    assembler   chunks → one message
    pipeline    the stages in a row: ``parse_stream``
"""
