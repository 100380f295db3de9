# SPDX-License-Identifier: MIT
"""Runs one tool call, from the arguments that the model wrote to its one result.

In: a whole ``ToolCall``. Out: a ``ToolOutcome``, whatever the tool does. ``sys.exit()``
in a tool, or an exception that cannot be shown, is a failure like any other. Raised:
``KeyboardInterrupt``, and exceptions of the caller's approver.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Callable, Dict, NamedTuple, Optional, Union

from ..values.messages import ToolCall
from ..values.strictjson import mend_text
from .isolation import ToolCancelled, ToolCrashed, ToolNotStarted, ToolTimeout, run_isolated
from .result import Stop, ToolOutcome
from .tools import InvalidArguments, Tool, ToolError, ToolRegistry, render_output
from .tools.output import cut_text
from .tools.raised import chain_text, error_text, raise_interrupt

Approve = Callable[[ToolCall], Any]

CANCELLED = "cancelled before it ran"
CANCELLED_RUNNING = "cancelled while it ran; its effects are unknown"
INTERRUPTED = "interrupted while it ran; its effects are unknown"
NOT_EXECUTED = "not executed"
NOT_RUN = "not run: an earlier call failed"

_FAILED = ("error", "invalid-arguments", "unknown-tool", "failed", "timeout")
"""Statuses after which a change may be missing that later calls of the answer rely on."""


class Ready(NamedTuple):
    """A call that may run."""

    call: ToolCall
    tool: Tool
    arguments: Dict[str, Any]


@dataclass(frozen=True)
class Dispatcher:
    """Prepares and runs calls.

    Args:
        tools: the registry in which tools are found by name.
        approve: asked before each call that could run; None allows all calls except
            those of mutating tools.
        allow_mutating: whether None allows those of mutating tools too.
        cancel: checked before a call, and passed to tools.
        max_output_bytes: cap of a result in UTF-8 bytes.
    """

    tools: ToolRegistry
    approve: Optional[Approve]
    allow_mutating: bool
    cancel: Optional[threading.Event]
    max_output_bytes: int

    def prepare(self, call: ToolCall) -> Union[Ready, ToolOutcome]:
        """Return the call as ``Ready``, or the outcome of a call that cannot run.

        Raises:
            Exceptions of the approver.
        """
        if self.cancelled:
            return self.outcome(call, "cancelled", CANCELLED)
        tool = self.tools.get(call.name)
        if tool is None:
            known = ", ".join(self.tools.names) or "none"
            text = f"there is no tool {mend_text(call.name)[:100]!r} (there are: {known})"
            return self.outcome(call, "unknown-tool", text)
        try:
            arguments = call.parsed()
            tool.check(arguments)
            tool.bind(arguments)
        except (ToolError, ValueError) as error:
            return self.outcome(call, "invalid-arguments", error_text(error))
        refusal = self._refusal(call, tool)
        if refusal is not None:
            return self.outcome(call, "refused", refusal)
        if self.cancelled:  # the approver may have taken its time
            return self.outcome(call, "cancelled", CANCELLED)
        return Ready(call, tool, arguments)

    def run(self, ready: Ready) -> ToolOutcome:
        """Run a call that is ready, and return its outcome."""
        call = ready.call
        try:
            return self.outcome(call, "ok", self._run(ready))
        except InvalidArguments as error:
            return self.outcome(call, "invalid-arguments", error_text(error))
        except ToolError as error:
            return self.outcome(call, "error", error_text(error))
        except ToolTimeout as error:
            return self.outcome(call, "timeout", f"{error}; its effects are unknown")
        except ToolCancelled:
            return self.outcome(call, "cancelled", CANCELLED_RUNNING)
        except ToolNotStarted as error:
            return self.outcome(call, "failed", f"{error}; the tool did not run")
        except ToolCrashed as error:
            return self.outcome(call, "failed", f"{error}; its effects are unknown")
        except BaseException as error:  # a tool may raise anything; it ends only the tool
            raise_interrupt(error)
            text = f"{chain_text(error)}; its effects are unknown"
            return self.outcome(call, "failed", text)

    def skipped(self, call: ToolCall, stop: Stop) -> ToolOutcome:
        """Return the outcome of a call that is not run because the loop has stopped."""
        if stop.reason == "cancelled":
            return self.outcome(call, "cancelled", CANCELLED)
        why = stop.failure.message if stop.failure is not None else stop.reason
        return self.outcome(call, "not-executed", f"{NOT_EXECUTED}: {why}")

    def is_polling(self, call: ToolCall) -> bool:
        """Return whether a call's tool is meant to be called until its result changes."""
        tool = self.tools.get(call.name)
        return tool is not None and tool.polling

    def depends(self, call: ToolCall) -> bool:
        """Return whether a failed change in the same answer keeps this call from running."""
        tool = self.tools.get(call.name)
        return tool is not None and tool.mutating and not tool.independent

    def is_failed_change(self, outcome: ToolOutcome) -> bool:
        """Return whether an outcome is the failure of a tool that changes something.

        An unknown tool counts too, because its name may be a misspelt mutating tool.
        """
        tool = self.tools.get(outcome.call.name)
        return outcome.status in _FAILED and (tool is None or tool.mutating)

    def outcome(self, call: ToolCall, status: str, text: str) -> ToolOutcome:
        """Return an outcome with this text, cut to size; the text of a failure says "error"."""
        shown = text if status == "ok" else "error: " + mend_text(text)
        return ToolOutcome(call, cut_text(shown, self.max_output_bytes), status)

    @property
    def cancelled(self) -> bool:
        """Whether the caller's event is set."""
        return self.cancel is not None and self.cancel.is_set()

    def _run(self, ready: Ready) -> str:
        most = self.max_output_bytes
        if ready.tool.isolate:
            return run_isolated(
                ready.tool, ready.arguments, call_id=ready.call.id, cancel=self.cancel,
                max_bytes=most,
            )
        value = ready.tool.invoke(
            ready.arguments, call_id=ready.call.id, cancel=self.cancel
        )
        return render_output(value, most)

    def _refusal(self, call: ToolCall, tool: Tool) -> Optional[str]:
        """Return the words of a refusal; None when the call may run."""
        if self.approve is None:
            if not tool.mutating or self.allow_mutating:
                return None
            return f"refused: {tool.name} changes things, and there is nobody to approve it"
        answer = self.approve(call)
        if answer is True:
            return None
        reason = answer if isinstance(answer, str) else ""
        return f"refused: {reason}" if reason else "refused by the user"
