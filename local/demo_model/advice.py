"""The little that the demo model knows when it plays an agent that is consulted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Topic:
    words: str
    """What a question about it says, as a pattern."""
    points: Mapping[str, tuple[str, ...]]
    """By the agent that knows them, each ``**Title**: text``."""


KNOWLEDGE = "Knowledge"
RESEARCH = "Research"

_TOPICS = (
    _Topic(
        r"\berrors?\b|\bexceptions?\b|\bfail(?:ure|ing)?s?\b|\bretr(?:y|ies|ying)\b|\btimeouts?\b",
        {
            KNOWLEDGE: (
                "**Structured error types**: define a small hierarchy of exceptions, so that callers can tell what may "
                "be tried again from what may not.",
                "**Catch narrowly**: catch what you can handle where you can handle it, and let the rest reach one "
                "place that logs and reports it.",
                "**Errors for the model**: hand a failed tool call back to the model as a short sentence that says "
                "what to do next, not as a stack trace.",
            ),
            RESEARCH: (
                "**Retries with backoff**: repeat only what is safe to repeat, with growing, randomised pauses and an "
                "upper bound.",
                "**Timeouts everywhere**: most stuck agents wait for a call that had no deadline.",
                "**Graceful degradation**: an answer that says what is missing is worth more than no answer.",
            ),
        },
    ),
    _Topic(
        r"\brate[\s-]?limit\w*|\bthrottl\w+|\bquotas?\b",
        {
            KNOWLEDGE: (
                "**Choose the unit**: decide what is limited, requests or tokens, and for whom: a user, a tenant or "
                "the whole deployment.",
                "**Set rate and burst**: a token bucket has both; begin with twice the load you see.",
                "**Answer with Retry-After**: refuse with status 429 and say when to come back.",
            ),
            RESEARCH: (
                "**Limit in front, not inside**: gateways refuse at less cost than workers do.",
                "**Queues beat refusals**: where work may wait, a bounded queue loses fewer requests.",
            ),
        },
    ),
    _Topic(
        r"\btest(?:s|ed|ing)?\b|\bevaluat\w+",
        {
            KNOWLEDGE: (
                "**Fake the model, not the rest**: script the model's answers and let everything else be real.",
                "**Test the unhappy paths**: bad tool arguments, silence, half an answer.",
            ),
            RESEARCH: (
                "**Judge outcomes, not wording**: check what an agent did; its sentences change with every model.",
                "**Keep failures**: each conversation that went wrong is a test case.",
            ),
        },
    ),
    _Topic(
        r"\blog(?:s|ged|ging)?\b|\bmonitor\w*|\bobserv\w+|\btrac(?:e|es|ing)\b",
        {
            KNOWLEDGE: (
                "**Structured lines**: one event a line, with the ids of thread, run and call.",
                "**No secrets, no prompts**: log ids and sizes; keep contents where access is controlled.",
            ),
            RESEARCH: (
                "**Trace across agents**: hand the ids on with every call, or nobody will find out who waited.",
            ),
        },
    ),
)
_ANYTHING: Mapping[str, tuple[str, ...]] = {
    KNOWLEDGE: (
        "**Start from the goal**: write down what a good result of {topic} looks like before choosing means.",
        "**Take small steps**: change one thing at a time and look at what it does.",
    ),
    RESEARCH: (
        "**Measure first**: compare alternatives on your own cases; general figures rarely carry over.",
        "**Mind the trade-off**: what makes {topic} simpler today may cost flexibility later.",
    ),
}


def points_about(question: str, agent: str, topic: str) -> tuple[str, ...]:
    """What ``agent`` has to say about a question, point by point."""
    for known in _TOPICS:
        if re.search(known.words, question, re.IGNORECASE):
            return known.points[agent]
    return tuple(point.replace("{topic}", topic) for point in _ANYTHING[agent])
