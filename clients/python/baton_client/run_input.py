"""The input of a run, as AG-UI defines it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from baton_client.addresses import given
from baton_client.errors import ConfigurationError
from baton_client.interrupt_answers import Answer
from baton_client.tools import ClientTool

WhileBusy = Literal["queue", "steer", "interrupt"]
"""The treatment of a message while a run is in progress: it waits, enters the run, or stops it."""
Content = str | Sequence[str | Mapping[str, Any]]
"""A message: a text, or texts and parts, such as ``client.threads.files.upload`` returns."""


def to_parts(content: Content) -> str | list[dict[str, Any]]:
    """Return the content as the server takes it."""
    if isinstance(content, str):
        return content
    return [{"type": "text", "text": part} if isinstance(part, str) else dict(part) for part in content]


@dataclass(frozen=True, slots=True)
class RunInput:
    """One request of ``POST /v1/runs``."""

    thread_id: str
    run_id: str
    message: dict[str, Any] | None
    answers: tuple[Answer, ...]
    tools: tuple[ClientTool, ...]
    context: Mapping[str, str]
    forwarded: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        content: Content | None,
        *,
        thread_id: str,
        message_id: str,
        agent_id: str | None,
        answers: Sequence[Answer],
        tools: Sequence[ClientTool],
        context: Mapping[str, str],
        branch: Mapping[str, Any] | None,
        time_zone: str | None = None,
        locale: str | None = None,
        while_busy: WhileBusy | None = None,
        over_spending: bool = False,
    ) -> RunInput:
        """Return the input. Raises ``ConfigurationError`` without a message, answers or a ``branch``."""
        if content is None and not answers and branch is None:
            raise ConfigurationError("Give a message, or answers to what the conversation waits for.")
        message = None
        if content is not None:
            message = {"id": message_id, "role": "user", "content": to_parts(content)}
        # A lost connection must not stop the run: this client resumes it, or cancels it explicitly.
        forwarded: dict[str, Any] = {"onDisconnect": "continue"}
        forwarded |= given(agentId=agent_id, branch=dict(branch) if branch is not None else None)
        forwarded |= given(timeZone=time_zone, locale=locale, whileBusy=while_busy)
        if over_spending:
            forwarded["overSpending"] = True
        return cls(thread_id, str(uuid.uuid4()), message, tuple(answers), tuple(tools), context, forwarded)

    def continue_with(self, answers: Sequence[Answer]) -> RunInput:
        """Return the input of the run that continues with these answers."""
        forwarded = {name: value for name, value in self.forwarded.items() if name != "branch"}
        return replace(self, run_id=str(uuid.uuid4()), message=None, answers=tuple(answers), forwarded=forwarded)

    def to_json(self) -> dict[str, Any]:
        """Return the request's body."""
        return {
            "threadId": self.thread_id,
            "runId": self.run_id,
            "protocolVersion": "1.0",
            "state": {},
            "messages": [self.message] if self.message else [],
            "tools": [tool.to_wire() for tool in self.tools],
            "context": [{"description": name, "value": value} for name, value in self.context.items()],
            "forwardedProps": dict(self.forwarded),
            **({"resume": [_to_entry(answer) for answer in self.answers]} if self.answers else {}),
        }


def _to_entry(answer: Answer) -> dict[str, Any]:
    entry = {"interruptId": answer.interrupt_id, "status": answer.status}
    return entry if answer.payload is None else {**entry, "payload": answer.payload}
