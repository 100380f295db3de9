# SPDX-License-Identifier: MIT
"""Who answers an agent's steps, and how it is asked.

In: what starts a call (a ``Client`` or a runtime) and the settings of a turn. Out: a call of
the model, checked and recorded, with nothing sent yet.
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
"""Failures after which a step is asked again although its chunks were told: a model that wrote
one broken call mostly writes a good one the next time."""


class Start(Protocol):
    """What the agent needs of a client: a call started, and recorded as part of a turn."""

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
        """Start a call; as ``Client.start`` does."""


@dataclass(frozen=True)
class Model:
    """Who is asked, and how.

    Args:
        start: starts a call.
        retry: the agent's own retry policy; None is the client's, or else ``RetryPolicy()``.
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
        """Start a call: all is checked that can be here, and nothing sent yet.

        Raises:
            LlmError: what is wrong locally.
        """
        request = LlmRequest(self.config, tuple(messages), self.system, self.tools, context)
        return self.start(
            request, recorder=recorder, whole=self.whole, policy=self.retry,
            default_policy=RetryPolicy(), ask_again=ASK_AGAIN,
        )
