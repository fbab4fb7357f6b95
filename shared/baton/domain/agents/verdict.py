"""Verdicts of hooks and guardrails, and the treatment of those that fail."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MAX_SENTENCE = 1_000
"""Characters of a refusal's sentence."""
MAX_REPLACEMENT = 20_000
"""Characters of a text in place of a window of an answer, of an instruction, and of arguments as JSON."""
MAX_LONG_REPLACEMENT = 1_000_000
"""Characters of a text in place of a question or of a tool's result, which may be as long."""


class Origin(StrEnum):
    """The origin of a text that input guardrails judge. All of them may hold words that a caller has chosen."""

    QUESTION = "question"
    """The user's message, or that of the agent that asks."""
    FILE = "file"
    """Names and texts of the files of a question."""
    PAGE = "page"
    """The context, the tools and the results of the user's application, and words of people who answer interrupts."""
    HANDOFF = "handoff"
    """Reason, summary and messages that another agent hands over with a conversation."""
    HISTORY = "history"
    """Earlier messages that the agent has not judged: of other agents, of a fork's or sandbox's parent, imported."""
    MEMORY = "memory"
    """Recalled conversations and facts, and private skills."""


class OnFailure(StrEnum):
    """The treatment of a hook or guardrail that fails, or does not answer in time."""

    CLOSED = "closed"
    """It counts as a refusal."""
    OPEN = "open"
    """The turn goes on as if it were not there."""


@dataclass(frozen=True, slots=True)
class Replace:
    """A verdict: go on with ``value`` instead, a text or the arguments of a tool."""

    value: Any


@dataclass(frozen=True, slots=True)
class Refuse:
    """A verdict: do not go on. ``sentence`` is for the user, or for the model if a tool or a handoff is refused.

    Default: a fixed sentence of the agent.
    """

    sentence: str = ""


Verdict = Replace | Refuse | None
"""A hook's verdict; None: the agent continues."""
