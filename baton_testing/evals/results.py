"""Results of evaluations, as they are written to JSON files and read again."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from baton.domain.text import replace_surrogates

MAX_REASON = 500
"""The most characters of a reason."""
MAX_ANSWER = 20_000
"""The most characters of an answer that are kept."""
INTERRUPTED = "It was interrupted."
FORMAT = 1
"""The version of the format of result files. Files of other versions are not read."""


class Result(BaseModel):
    """The base of results. Names in JSON are camelCase."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


class Score(Result):
    """The result of one check of one run."""

    metric: str
    value: float | None
    """From 0 to 1; None if it was not judged."""
    passed: bool | None
    """None if it was not judged."""
    reason: str = ""

    @classmethod
    def of(cls, metric: str, passed: bool, reason: str = "") -> Self:
        """Return the score of a check that holds or not. ``reason`` is kept only if it does not hold."""
        return cls(metric=metric, value=float(passed), passed=passed, reason="" if passed else cut(reason))

    @classmethod
    def graded(cls, metric: str, value: float, threshold: float, reason: str = "") -> Self:
        """Return the score of a check that has a value from 0 to 1. It passes from ``threshold`` on."""
        passed = value >= threshold
        about = f"{value:.3f} is below {threshold:g}" + (f"; {reason}" if reason else "")
        return cls(metric=metric, value=value, passed=passed, reason="" if passed else cut(about))

    @classmethod
    def not_judged(cls, metric: str, reason: str) -> Self:
        """Return the score of a check that could not be carried out."""
        return cls(metric=metric, value=None, passed=None, reason=cut(reason))


class RunRecord(Result):
    """One run of a case."""

    passed: bool | None
    """None if no check failed, but one was not judged."""
    scores: tuple[Score, ...] = ()
    error: str | None = None
    """The reason why the conversation was not completed."""
    answer: str = ""
    tokens: int = 0
    usd: float | None = None
    seconds: float = 0.0
    transcript: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    thread_id: str | None = None

    @property
    def reasons(self) -> list[str]:
        """The reasons why it did not pass, or was not judged."""
        results = [f"{score.metric}: {score.reason}" for score in self.scores if not score.passed]
        return [f"error: {self.error}", *results] if self.error is not None else results


class CaseRecord(Result):
    """All runs of a case."""

    name: str
    place: str
    """``file:line``."""
    tags: tuple[str, ...] = ()
    input: tuple[str, ...] = ()
    reference: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    runs: tuple[RunRecord, ...] = ()

    @property
    def judged(self) -> list[bool]:
        """The runs that passed or failed."""
        return [run.passed for run in self.runs if run.passed is not None]

    @property
    def passes(self) -> int:
        """The number of runs that passed."""
        return sum(self.judged)

    @property
    def is_flaky(self) -> bool:
        """Whether some runs passed and others failed."""
        return 0 < self.passes < len(self.judged)

    @property
    def share(self) -> float | None:
        """The share of judged runs that passed; None without judged runs."""
        return self.passes / len(self.judged) if self.judged else None


class EvaluationRecord(Result):
    """One evaluation: all cases of the chosen data sets, against one version of the agents."""

    format: int = FORMAT
    label: str
    """The version of agents or models that was evaluated."""
    model: str
    judge: str | None = None
    """The model that judged, and the version of its prompt; None without a judge."""
    embedder: str | None = None
    """The model by which documents were found, or ``shared words``; None without documents, and for a server."""
    repeat: int
    began_at: datetime
    seconds: float
    cases: tuple[CaseRecord, ...]
    not_run: int = 0
    """The number of runs that did not take place, because the evaluation was interrupted or its budget spent."""
    stopped: str | None = None
    """The reason why it ended early."""
    notes: tuple[str, ...] = ()
    agent_id: str | None = None
    """The agent of a tenant whose version was evaluated; None for other evaluations."""
    agent_version: int | None = None


def has_passed(error: str | None, scores: tuple[Score, ...]) -> bool | None:
    """Return whether a run passed; None if a check was not judged and none failed."""
    if error is not None or any(score.passed is False for score in scores):
        return False
    return None if any(score.passed is None for score in scores) else True


def cut(text: str, longest: int = MAX_REASON) -> str:
    """Return a text as one line that can be encoded in UTF-8, cut to ``longest`` characters."""
    line = " ".join(replace_surrogates(text).split())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def count(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 case`` and ``2 cases``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
