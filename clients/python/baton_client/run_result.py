"""The result of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from baton_client.interrupt_texts import CardField, write_text
from baton_client.run_parts import ModelUsage, Person, Source
from baton_client.structured import parse_answer

T = TypeVar("T")

Outcome = Literal["success", "cancelled", "interrupt", "delivered", "none"]
"""The end of a run. ``delivered``: people at a desk answer the message. ``none``: there was no run to follow."""
TaskStatus = Literal["working", "completed", "failed", "timed_out", "cancelled"]
"""The state of a question to another agent."""


@dataclass(frozen=True, slots=True)
class Interrupt:
    """A question at which a run ends: an approval by a person, or a call of a client tool."""

    id: str
    reason: str
    """``tool_approval``, ``client_tool``, or a reason that a newer server has."""
    message: str | None = None
    """The question for the person."""
    tool_name: str | None = None
    tool_call_id: str | None = None
    arguments: str = ""
    """The call's arguments, as JSON. Long ones end with an ellipsis if this client did not see the call."""
    raw: Mapping[str, Any] = field(default_factory=dict)
    """The interrupt as it was sent."""
    label: str | None = None
    """The tool's name for people."""
    fields: tuple[CardField, ...] = ()
    """The call's arguments in words."""

    @property
    def text(self) -> str:
        """The question with the arguments that it does not show, as plain text for people."""
        return write_text(self.raw)

    @property
    def arguments_by_name(self) -> dict[str, Any]:
        """The call's arguments; empty if ``arguments`` is not a JSON object, for example because it was shortened."""
        try:
            values = json.loads(self.arguments)
        except ValueError:
            return {}
        return values if isinstance(values, dict) else {}


@dataclass(slots=True)
class SaidMessage:
    """One message of the run, as far as it has been streamed."""

    id: str
    agent_id: str | None = None
    agent_name: str | None = None
    text: str = ""
    sources: list[Source] = field(default_factory=list)
    """Its sources: consulted agents, passages of documents, files."""
    consulted: list[Source] = field(default_factory=list)
    """Documents that agents were given for the message but that it does not cite."""
    is_complete: bool = False
    author: Person | None = None
    """The person at a desk who wrote the message; None if an agent did."""
    attachments: list[dict[str, Any]] = field(default_factory=list)
    """The images and files of a person's message, as AG-UI parts."""


@dataclass(slots=True)
class SubTask:
    """A question to another agent in the run. ``client.threads.tasks.get`` has its messages and result."""

    task_id: str
    agent_id: str | None
    agent_name: str | None
    status: TaskStatus = "working"
    error: str | None = None
    """The failure, in the server's words."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run that has ended."""

    thread_id: str
    run_id: str
    outcome: Outcome
    """``delivered``: people at a desk answer the message, not an agent. ``none``: there was no run to follow."""
    messages: list[SaidMessage]
    tasks: list[SubTask]
    interrupts: list[Interrupt]
    """The interrupts at which the run ended.

    Send the answers with ``client.runs.stream(thread_id=..., answers=[...])``.
    """
    usage: list[ModelUsage]
    """Tokens by model."""
    last_seq: int
    result: Any = None
    """The value of a structured answer, as decoded JSON; None for an answer that is text."""

    def result_as(self, kind: type[T]) -> T:
        """Return the value of the structured answer as a pydantic model, or another type with fields.

        Raises ``NoStructuredAnswerError`` and ``AnswerMismatchError``.
        """
        return parse_answer(kind, self.result, outcome=self.outcome)

    @property
    def text(self) -> str:
        """The texts of all messages, with an empty line between two of them."""
        return "\n\n".join(message.text for message in self.messages if message.text)

    @property
    def sources(self) -> list[Source]:
        """The sources of the messages, each once."""
        return _drop_repeated(source for message in self.messages for source in message.sources)

    @property
    def consulted(self) -> list[Source]:
        """The documents that agents were given but that the messages do not cite, each passage once."""
        return _drop_repeated(source for message in self.messages for source in message.consulted)


def _drop_repeated(sources: Iterable[Source]) -> list[Source]:
    return list({(source.kind, source.id, source.chunk): source for source in sources}.values())
