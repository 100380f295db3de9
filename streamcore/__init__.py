# SPDX-License-Identifier: MIT
"""streamcore: a language model's streaming answer as one trusted message.

Public names are listed here and loaded when first used, so that importing the
package costs next to nothing and works where ``requests`` is not installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Dict, List

__version__ = "0.1.0"

_HOMES: Dict[str, str] = {
    "Client": "client",
    "Stream": "client",
    "LlmError": "errors",
    "Failure": "errors",
    "Partial": "errors",
    "error_chain": "errors",
    "Limits": "limits",
    "TokenUsage": "usage",
    "Message": "messages",
    "AssistantMessage": "messages",
    "TextBlock": "messages",
    "ReasoningBlock": "messages",
    "ToolCall": "messages",
    "ToolResult": "messages",
    "ImageBlock": "messages",
    "StreamChunk": "chunks",
    "BlockStart": "chunks",
    "TextDelta": "chunks",
    "ReasoningDelta": "chunks",
    "ToolCallDelta": "chunks",
    "BlockEnd": "chunks",
    "UsageChunk": "chunks",
    "Finish": "chunks",
    "FinishReason": "chunks",
    "chunk_from_dict": "chunks",
    "SseParser": "sse",
    "SseEvent": "sse",
    "ToolCallAssembler": "toolcalls",
    "MessageAssembler": "assembler",
    "assemble": "assembler",
    "check_grammar": "grammar",
    "parse_stream": "pipeline",
    "CallConfig": "calls",
    "LlmRequest": "calls",
    "RetryPolicy": "retry",
    "RetryRecord": "retry",
    "Session": "session",
    "ProviderProfile": "providers",
    "ModelInfo": "providers",
    "Quirk": "providers",
    "DialectOptions": "dialects.options",
    "get_profile": "providers",
    "list_profiles": "providers",
    "HttpAdapter": "adapters",
    "HttpSettings": "adapters",
    "LlmAdapter": "adapters",
    "LlmRuntime": "runtime",
    "PreparedCall": "runtime",
    "Transport": "transport",
    "LoopbackServer": "loopback",
}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module("." + home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return __all__
