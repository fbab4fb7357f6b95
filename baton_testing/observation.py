"""The observation of one step of a conversation from outside."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LONGEST = 200
"""Characters of a text in a report."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message of an agent."""

    agent_id: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """A call of a tool."""

    agent_id: str
    tool: str
    arguments: Mapping[str, Any] | str
    output: str | None
    succeeded: bool
    error: str | None = None
    """The reason why it failed or was refused, as the model got it."""

    def __str__(self) -> str:
        arguments = (
            self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments, ensure_ascii=False)
        )
        return f"{self.agent_id} called {self.tool} {arguments}"


@dataclass(frozen=True, slots=True)
class Observation:
    """The observation of a step, or of all of them."""

    title: str = ""
    said: tuple[Said, ...] = ()
    calls: tuple[Called, ...] = ()
    consulted: tuple[str, ...] = ()
    handoffs: tuple[str, ...] = ()
    """Agents that the conversation was handed over to."""
    returns: int = 0
    """Handoffs that ended."""
    workflow_states: tuple[str, ...] = ()
    """States that the workflow entered, in their order."""
    workflow: str | None = None
    """The state that the newest workflow is in; None if none has begun."""
    approvals: tuple[str, ...] = ()
    """Tools for which a person was asked."""
    questions: tuple[str, ...] = ()
    """The questions, each with the lines of the arguments that it does not show."""
    closings: tuple[str, ...] = ()
    """The reasons for which the conversation was closed."""
    result: Any = None
    """The value of the last structured answer."""
    error: str | None = None
    """The code of the error that the run, or the request, ended with."""
    problems: tuple[str, ...] = ()
    """The reasons why the test itself could not continue, such as a prompt that was not recorded."""
    tokens: int = 0
    milliseconds: float = 0.0
    """The time that Baton itself has computed."""
    sources: tuple[Mapping[str, Any], ...] = ()
    """The sources of the answers, as events have them."""
    runs: tuple[str, ...] = ()
    """The ids of the runs that answered."""

    @property
    def text(self) -> str:
        """All that agents said."""
        return "\n".join(utterance.text for utterance in self.said)

    def transcript(self) -> Iterator[str]:
        """Yield the lines of the transcript."""
        yield f"> {self.title}"
        for call in self.calls:
            outcome = (
                call.output or "" if call.succeeded else f"failed: {call.error or call.output or 'without a reason'}"
            )
            yield f"  [{_short(str(call))} -> {_short(outcome)}]"
        yield from (f"  [handed over to {agent}]" for agent in self.handoffs)
        yield from (f"  [workflow: {state}]" for state in self.workflow_states)
        for utterance in self.said:
            first, *others = utterance.text.splitlines() or [""]
            yield f"  {utterance.name}: {first}"
            yield from (f"    {line}" for line in others)
        for question in self.questions:
            first, *others = question.splitlines()
            yield f"  [asks: {first}]"
            yield from (f"    {line}" for line in others)
        yield from (f"  [closed: {reason}]" for reason in self.closings)
        if self.error is not None:
            yield f"  [error: {self.error}]"


def combine(parts: list[Observation]) -> Observation:
    """Return the observation of several steps together."""
    whole = Observation("the conversation")
    return Observation(
        whole.title,
        **{
            name: tuple(record for part in parts for record in getattr(part, name))
            for name in (
                "said",
                "calls",
                "consulted",
                "handoffs",
                "workflow_states",
                "approvals",
                "questions",
                "closings",
                "problems",
                "sources",
                "runs",
            )
        },
        returns=sum(part.returns for part in parts),
        workflow=next((part.workflow for part in reversed(parts) if part.workflow is not None), None),
        result=next((part.result for part in reversed(parts) if part.result is not None), None),
        error=next((part.error for part in parts if part.error is not None), None),
        tokens=sum(part.tokens for part in parts),
        milliseconds=sum(part.milliseconds for part in parts),
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."
