# SPDX-License-Identifier: MIT
"""streamcore: a language model's streaming answer as one trusted message.

All public names are listed here. Each is loaded when it is first used: importing the
package is quick, and works where ``requests`` is not installed. If a copy of the package
leaves out the room of a name, that name raises an ``ImportError`` that says how to get it.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # type checkers assume it is true; importing ``typing`` would take time

__version__ = "0.2.0"

_HOMES: dict[str, str] = {
    name: home for home, names in {
        "client": "Client Stream",
        "values.errors": "LlmError Failure Partial error_chain",
        "values.limits": "Limits",
        "values.usage": "TokenUsage",
        "values.messages":
            "Message AssistantMessage TextBlock ReasoningBlock ToolCall ToolResult ImageBlock",
        "values.chunks":
            "StreamChunk BlockStart TextDelta ReasoningDelta ToolCallDelta BlockEnd UsageChunk "
            "Finish FinishReason chunk_from_dict",
        "wire.sse": "SseParser SseEvent",
        "wire.toolcalls": "ToolCallAssembler",
        "wire.assembler": "MessageAssembler assemble",
        "values.grammar": "check_grammar",
        "wire.pipeline": "parse_stream",
        "values.calls": "CallConfig LlmRequest",
        "values.retry": "RetryPolicy RetryRecord",
        "session": "Session",
        "providers": "ProviderProfile ModelInfo OptionNote get_profile list_profiles",
        "wire.dialects": "Dialect DialectOptions find_dialect register_dialect",
        "wire.dialects.anthropic_messages": "AnthropicMessagesOptions",
        "wire.dialects.chat_completions": "ChatCompletionsOptions",
        "runtime": "HttpAdapter HttpSettings LlmAdapter LlmRuntime PreparedCall",
        "transport": "Transport",
        "loopback": "LoopbackServer",
        "agent": "Agent AgentEvent AgentResult ToolOutcome",
        "values.agent_limits": "AgentLimits",
        "agent.tools": "Tool ToolError ToolRegistry tool",
        "config": "Config",
    }.items() for name in names.split()
}

# The same names for type checkers, which do not run __getattr__. If a copy leaves a room out,
# the "type: ignore" keeps the host's type check clean; the names of that room are of type Any.
if TYPE_CHECKING:
    from .agent import (  # type: ignore[import-not-found,unused-ignore]
        Agent as Agent,
        AgentEvent as AgentEvent,
        AgentResult as AgentResult,
        ToolOutcome as ToolOutcome,
    )
    from .agent.tools import (  # type: ignore[import-not-found,unused-ignore]
        Tool as Tool,
        ToolError as ToolError,
        ToolRegistry as ToolRegistry,
        tool as tool,
    )
    from .config import (  # type: ignore[import-not-found,unused-ignore]
        Config as Config,
    )
    from .loopback import (  # type: ignore[import-not-found,unused-ignore]
        LoopbackServer as LoopbackServer,
    )
    from .session import (  # type: ignore[import-not-found,unused-ignore]
        Session as Session,
    )
    from .runtime import (
        HttpAdapter as HttpAdapter,
        HttpSettings as HttpSettings,
        LlmAdapter as LlmAdapter,
    )
    from .wire.assembler import MessageAssembler as MessageAssembler, assemble as assemble
    from .values.agent_limits import AgentLimits as AgentLimits
    from .values.calls import CallConfig as CallConfig, LlmRequest as LlmRequest
    from .values.chunks import (
        BlockEnd as BlockEnd,
        BlockStart as BlockStart,
        Finish as Finish,
        FinishReason as FinishReason,
        ReasoningDelta as ReasoningDelta,
        StreamChunk as StreamChunk,
        TextDelta as TextDelta,
        ToolCallDelta as ToolCallDelta,
        UsageChunk as UsageChunk,
        chunk_from_dict as chunk_from_dict,
    )
    from .client import Client as Client, Stream as Stream
    from .wire.dialects import (
        Dialect as Dialect,
        DialectOptions as DialectOptions,
        find_dialect as find_dialect,
        register_dialect as register_dialect,
    )
    from .wire.dialects.anthropic_messages import (
        AnthropicMessagesOptions as AnthropicMessagesOptions,
    )
    from .wire.dialects.chat_completions import (
        ChatCompletionsOptions as ChatCompletionsOptions,
    )
    from .values.errors import (
        Failure as Failure,
        LlmError as LlmError,
        Partial as Partial,
        error_chain as error_chain,
    )
    from .values.grammar import check_grammar as check_grammar
    from .values.limits import Limits as Limits
    from .values.messages import (
        AssistantMessage as AssistantMessage,
        ImageBlock as ImageBlock,
        Message as Message,
        ReasoningBlock as ReasoningBlock,
        TextBlock as TextBlock,
        ToolCall as ToolCall,
        ToolResult as ToolResult,
    )
    from .wire.pipeline import parse_stream as parse_stream
    from .providers import (
        ModelInfo as ModelInfo,
        OptionNote as OptionNote,
        ProviderProfile as ProviderProfile,
        get_profile as get_profile,
        list_profiles as list_profiles,
    )
    from .values.retry import RetryPolicy as RetryPolicy, RetryRecord as RetryRecord
    from .runtime import LlmRuntime as LlmRuntime, PreparedCall as PreparedCall
    from .wire.sse import SseEvent as SseEvent, SseParser as SseParser
    from .wire.toolcalls import ToolCallAssembler as ToolCallAssembler
    from .transport import Transport as Transport
    from .values.usage import TokenUsage as TokenUsage

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module("." + home, __name__)
    except ModuleNotFoundError as error:
        text = import_module(".values.rooms", __name__).left_out(name, error, __name__)
        if not text:
            raise
        raise ImportError(text, name=error.name) from None
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
