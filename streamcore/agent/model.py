# SPDX-License-Identifier: MIT
"""The model that answers an agent's steps, and the settings of its calls.

In: the function that starts a call (of a ``Client`` or a runtime), and the settings of a
turn. Out: a call of the model, checked, with nothing sent yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Collection, Mapping, Optional, Protocol, Sequence, Tuple

from ..runtime import Recorder, RunningCall
from ..values.calls import CallConfig, CallContext, LlmRequest
from ..values.frozen import FrozenDict
from ..values.limits import Limits
from ..values.messages import Message
from ..values.retry import RetryPolicy

ASK_AGAIN = ("MALFORMED_TOOL_CALL",)
"""Failures after which a step is asked again although its chunks were shown. After one broken
call, a model mostly writes a good one the next time."""


class Start(Protocol):
    """The function of a client that an agent needs: it starts a call within a recorded turn."""

    def __call__(
        self,
        request: LlmRequest,
        *,
        recorder: Optional[Recorder],
        whole: bool,
        policy: Optional[RetryPolicy],
        default_policy: RetryPolicy,
        ask_again: Collection[str],
    ) -> RunningCall:
        """Start a call as ``Client.start`` does."""


@dataclass(frozen=True)
class Model:
    """How a model is called in each step of a turn.

    Args:
        start: starts a call.
        retry: the agent's own retry policy; None stands for the client's, else that of the
            provider's profile, else ``RetryPolicy()``.
        whole: whether nobody sees the chunks, so that a failed attempt may be tried again.
        The other fields are those of ``LlmRequest`` and ``CallContext``.
    """

    start: Start
    config: CallConfig
    system: Optional[str]
    tools: Tuple[FrozenDict, ...]
    limits: Optional[Limits]
    headers: Optional[Mapping[str, str]]
    retry: Optional[RetryPolicy]
    whole: bool

    def ask(
        self, messages: Sequence[Message], context: CallContext, recorder: Recorder
    ) -> RunningCall:
        """Start a call: check all that can be checked before anything is sent.

        Raises:
            LlmError: when such a check fails.
        """
        request = LlmRequest(self.config, tuple(messages), self.system, self.tools, context)
        return self.start(
            request, recorder=recorder, whole=self.whole, policy=self.retry,
            default_policy=RetryPolicy(), ask_again=ASK_AGAIN,
        )
