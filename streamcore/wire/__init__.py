# SPDX-License-Identifier: MIT
"""The wire: body bytes to chunks, chunks to a message, and messages to a request body.

All of it is pure: bytes come in as arguments. The code opens nothing, waits for nothing and
sends nothing.

    sse         bytes → events
    dialects    events → chunks; a request → its body
    fitting     a history → the copy of it that one provider accepts
    failures    an error answer → the failure it means
    toolcalls   fragments of arguments → whole tool calls
    assembler   chunks → one message
    pipeline    all stages of reading, one after the other: ``parse_stream``
"""
