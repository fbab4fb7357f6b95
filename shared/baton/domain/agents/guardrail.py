"""Guardrails at HTTP endpoints, as agents' files declare them, and verdicts of hooks and guardrails."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from pydantic import Field, PrivateAttr, field_validator

from baton.domain.agents.tool import HttpTool, Name, Url
from baton.domain.definition import Definition
from baton.domain.tenants.secret import Headers

MAX_SENTENCE = 1_000
"""Characters of a refusal's sentence."""
MAX_REPLACEMENT = 20_000
"""Characters of a replacement for a window of an answer, for an instruction, or for arguments as JSON."""
MAX_LONG_REPLACEMENT = 1_000_000
"""Characters of a replacement for a question or a tool's result."""


class Origin(StrEnum):
    """The origin of a text that input guardrails judge. All of them may hold words that a caller has chosen."""

    QUESTION = "question"
    """The message of the user, or of the agent that asks."""
    FILE = "file"
    """Names and texts of the files of a question."""
    PAGE = "page"
    """The context, the tools and the results of the user's application, and words of people who answer interrupts."""
    HANDOFF = "handoff"
    """Reason, summary and messages that another agent hands over with a conversation."""
    HISTORY = "history"
    """Earlier messages that the agent has not judged: by other agents, of a fork's or sandbox's parent, or imported."""
    MEMORY = "memory"
    """Recalled conversations and facts, and private skills."""


class OnFailure(StrEnum):
    """The treatment of a hook or guardrail that fails, or does not answer in time."""

    CLOSED = "closed"
    """It counts as a refusal."""
    OPEN = "open"
    """The turn continues without its verdict."""


@dataclass(frozen=True, slots=True)
class Replace:
    """A verdict: go on with ``value`` instead, a text or the arguments of a tool."""

    value: Any


@dataclass(frozen=True, slots=True)
class Refuse:
    """A verdict: do not go on. ``sentence`` is for the user, or for the model if a tool or a handoff is refused.

    Default: a fixed sentence of the agent. A tool that has done nothing may return a refusal too. ``state`` is
    the state to which a workflow returns if the tool that completes it refuses.
    """

    sentence: str = ""
    state: str | None = None


class _Identified(Protocol):
    @property
    def id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class HandOver:
    """A verdict of ``before_model`` and ``after_model``: hand the conversation over, in place of the answer.

    ``agent`` is one of the agent's ``handoffs``, or its id. A specialist answers in this turn, the people of a desk
    later. ``reason`` is for records and for these people; default: the name of the function. ``summary`` is what the
    other agent must know; default: the light model summarises the conversation. The verdict is impossible while
    another agent consults this one, and for an agent with ``run``, which calls ``RunContext.hand_over``.
    """

    agent: str | _Identified
    reason: str = ""
    summary: str | None = None

    @property
    def agent_id(self) -> str:
        """The id of the target."""
        return self.agent if isinstance(self.agent, str) else self.agent.id


Verdict = Replace | Refuse | HandOver | None
"""A hook's verdict; None: the agent continues."""


class GuardrailPoint(StrEnum):
    """The points at which the endpoint of a guardrail is asked."""

    INPUT = "input"
    OUTPUT = "output"
    BEFORE_MODEL = "before_model"
    AFTER_MODEL = "after_model"
    BEFORE_TOOL = "before_tool"
    AFTER_TOOL = "after_tool"
    ON_HANDOFF = "on_handoff"


_AROUND_MODEL = (GuardrailPoint.BEFORE_MODEL, GuardrailPoint.AFTER_MODEL)


class Guardrail(Definition):
    """An endpoint that judges what users and the agent say and do. It gets POST requests with JSON."""

    name: Name
    """Its name in metadata, in records and in stubs of tests."""
    url: Url
    checks: tuple[GuardrailPoint, ...] = Field(
        default=(GuardrailPoint.INPUT, GuardrailPoint.OUTPUT), min_length=1, max_length=7
    )
    """The judged texts, ``input`` (the user's) and ``output`` (the agent's), and the points of hooks."""
    headers: Headers = Field(default_factory=dict)
    """Headers of its requests: texts, or references to their values."""
    timeout_seconds: float = Field(default=5, gt=0, le=60)
    """The time limit of one request."""
    on_failure: OnFailure = OnFailure.CLOSED
    """``closed``: a failure counts as a refusal; ``open``: the turn continues."""
    _tool: HttpTool | None = PrivateAttr(default=None)

    @field_validator("url")
    @classmethod
    def _has_no_placeholders(cls, url: str) -> str:
        if re.search(r"[{}]", url):
            raise ValueError("the address of a guardrail has no placeholders")
        return url

    @property
    def as_tool(self) -> HttpTool:
        """The HTTP operation that asks the guardrail, with the same credentials and allowed hosts as tools.

        A guardrail that fails open is asked even after many failures, so that a caller cannot switch it off.
        """
        if self._tool is None:
            fields: dict[str, Any] = {"type": "http", "name": self.name, "description": self.name, "method": "POST"}
            self._tool = HttpTool.model_validate(
                {**fields, "url": self.url, "headers": self.headers, "timeout_seconds": self.timeout_seconds}
            ).of_guardrail(is_always_asked=self.on_failure is OnFailure.OPEN)
        return self._tool

    def around_model(self) -> Guardrail | None:
        """Return the guardrail with its checks before and after the model only; None if it has neither."""
        checks = tuple(check for check in self.checks if check in _AROUND_MODEL)
        return self.model_copy(update={"checks": checks}) if checks else None
