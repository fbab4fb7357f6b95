"""The result of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from baton_client.structured import instance_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Something that a run waits for: a person's approval of a call, or the result of a client tool."""

    id: str
    reason: str
    """``tool_approval``, ``client_tool``, or what a later server has."""
    message: str | None = None
    """The question for the person."""
    tool_name: str | None = None
    tool_call_id: str | None = None
    arguments: str = ""
    """The call's arguments, as JSON; empty if this client did not see the call."""
    raw: Mapping[str, Any] = field(default_factory=dict)
    """The interrupt as it was sent."""


@dataclass(slots=True)
class SaidMessage:
    """One message of the run, as far as it has been streamed."""

    id: str
    agent_id: str | None = None
    agent_name: str | None = None
    text: str = ""
    sources: list[dict[str, Any]] = field(default_factory=list)
    """Its sources: consulted agents, passages of documents, files."""
    is_complete: bool = False


@dataclass(slots=True)
class SubTask:
    """A question to another agent in the run. ``client.threads.tasks.get`` has its messages and result."""

    task_id: str
    agent_id: str | None
    agent_name: str | None
    status: str = "working"
    """``working``, ``completed``, or what went wrong: ``failed``, ``timed_out``, ``cancelled``."""
    error: str | None = None
    """The failure, in the server's words."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run that has ended."""

    thread_id: str
    run_id: str
    outcome: str
    """``success``, ``cancelled`` or ``interrupt``; ``none`` where nothing was there to follow."""
    messages: list[SaidMessage]
    tasks: list[SubTask]
    interrupts: list[Interrupt]
    """The interrupts that it waits for; answer them by ``client.runs.stream(thread_id=..., answers=[...])``."""
    usage: list[dict[str, Any]]
    """Tokens by model."""
    last_seq: int
    result: Any = None
    """The value of a structured answer, as JSON has it; ``None`` for an answer that is text."""

    def result_as(self, kind: type[T]) -> T:
        """Return the value of the structured answer as a pydantic model, or another type with fields.

        Raises ``NoStructuredAnswerError`` and ``AnswerMismatchError``.
        """
        return instance_of(kind, self.result, outcome=self.outcome)

    @property
    def text(self) -> str:
        """The whole text."""
        return "\n\n".join(message.text for message in self.messages if message.text)

    @property
    def sources(self) -> list[dict[str, Any]]:
        """The sources of the messages, each once."""
        return list({(s.get("kind"), s.get("id")): s for m in self.messages for s in m.sources}.values())
