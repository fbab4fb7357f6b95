"""The observation of one step of a conversation, as clients see it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LONGEST = 200
"""The most characters of a text in a report."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message of an agent, or of a person of a desk."""

    agent_id: str
    name: str
    text: str
    is_person: bool = False


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
    """The observation of one step, or of several together."""

    title: str = ""
    said: tuple[Said, ...] = ()
    calls: tuple[Called, ...] = ()
    consulted: tuple[str, ...] = ()
    handoffs: tuple[str, ...] = ()
    """Agents that the conversation was handed over to."""
    returns: int = 0
    """The number of handoffs that ended."""
    workflow_states: tuple[str, ...] = ()
    """States that the workflow entered, in their order."""
    workflow: str | None = None
    """The state that the newest workflow is in; None if none has begun."""
    approvals: tuple[str, ...] = ()
    """Tools for which a person was asked."""
    questions: tuple[str, ...] = ()
    """The questions of approvals, each with lines for the arguments that it does not mention."""
    closings: tuple[str, ...] = ()
    """The reasons why the conversation was closed, one for each closing."""
    desk: str | None = None
    """The status of the conversation at a desk after the step; None if it is at none."""
    delivered: bool = False
    """Whether a message went to the people of a desk."""
    people: tuple[str, ...] = ()
    """The names of the people who wrote to the user."""
    begun_by: tuple[str, ...] = ()
    """The causes of runs that began by themselves: ``schedule``, ``event`` or ``task``."""
    steered: tuple[str, ...] = ()
    """The user's messages that have entered a run in progress."""
    interrupted: bool = False
    """Whether a run was stopped before its end."""
    withdrawn: int = 0
    """The number of messages that were withdrawn before their turn."""
    result: Any = None
    """The value of the last structured answer."""
    error: str | None = None
    """The code of the error that the run, or the request, ended with."""
    problems: tuple[str, ...] = ()
    """The reasons why the test itself could not continue, such as a prompt that was not recorded."""
    tokens: int = 0
    """The tokens of all calls of models."""
    milliseconds: float = 0.0
    """The CPU time of Baton itself."""
    sources: tuple[Mapping[str, Any], ...] = ()
    """The sources of the answers, in the form of events."""
    runs: tuple[str, ...] = ()
    """The ids of the runs that answered."""

    @property
    def text(self) -> str:
        """All texts of agents and people."""
        return "\n".join(utterance.text for utterance in self.said)

    @property
    def text_of_agents(self) -> str:
        """All texts of agents."""
        return "\n".join(utterance.text for utterance in self.said if not utterance.is_person)

    @property
    def answered_by(self) -> str | None:
        """The id of the agent that spoke last; None if a person spoke last, or nobody spoke."""
        return self.said[-1].agent_id if self.said and not self.said[-1].is_person else None

    def transcript(self) -> Iterator[str]:
        """Yield the lines of the transcript."""
        yield f"> {self.title}"
        for call in self.calls:
            outcome = (
                call.output or "" if call.succeeded else f"failed: {call.error or call.output or 'without a reason'}"
            )
            yield f"  [{_shorten(str(call))} -> {_shorten(outcome)}]"
        yield from (f"  [handed over to {agent}]" for agent in self.handoffs)
        yield from (f"  [workflow: {state}]" for state in self.workflow_states)
        for utterance in self.said:
            first, *others = utterance.text.splitlines() or [""]
            yield f"  {utterance.name}{' (a person)' if utterance.is_person else ''}: {first}"
            yield from (f"    {line}" for line in others)
        for question in self.questions:
            first, *others = question.splitlines() or [""]
            yield f"  [asks: {first}]"
            yield from (f"    {line}" for line in others)
        yield from (f"  [begun by itself: {cause}]" for cause in self.begun_by)
        yield from (f"  [entered the run: {_shorten(text)}]" for text in self.steered)
        if self.interrupted:
            yield "  [the run was stopped]"
        if self.delivered:
            yield "  [delivered to people, who answer]"
        yield from (f"  [closed: {reason}]" for reason in self.closings)
        if self.error is not None:
            yield f"  [error: {self.error}]"


def combine(parts: list[Observation]) -> Observation:
    """Return one observation of several steps: their lists joined, the first error, the last result and states."""
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
                "people",
                "begun_by",
                "steered",
            )
        },
        returns=sum(part.returns for part in parts),
        desk=parts[-1].desk if parts else None,
        delivered=any(part.delivered for part in parts),
        interrupted=any(part.interrupted for part in parts),
        withdrawn=sum(part.withdrawn for part in parts),
        workflow=next((part.workflow for part in reversed(parts) if part.workflow is not None), None),
        result=next((part.result for part in reversed(parts) if part.result is not None), None),
        error=next((part.error for part in parts if part.error is not None), None),
        tokens=sum(part.tokens for part in parts),
        milliseconds=sum(part.milliseconds for part in parts),
    )


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."
