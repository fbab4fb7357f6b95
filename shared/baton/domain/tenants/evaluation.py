"""Published results of evaluations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from baton.domain.times import to_millis

RETENTION = timedelta(days=180)
"""The time for which results are kept."""
MAX_EVALUATIONS = 200
"""Results of a tenant. Beyond this, the oldest results of the publisher with the most results are removed."""
MAX_CASES = 500
MAX_METRICS = 100
MAX_EVALUATION_BYTES = 256 * 1024
"""Bytes of the cases and metrics of one evaluation, as JSON."""
NAME = re.compile(r"[0-9a-f]{12,32}")
"""The name that a publisher gives an evaluation, by which a repeated request is recognised."""
EVALUATION_ID = re.compile(r"\d{15}-[0-9a-f]{12,32}")


@dataclass(frozen=True, slots=True)
class EvaluationEntry:
    """An evaluation in a list."""

    id: str
    """The id, derived from its beginning and name: see ``make_evaluation_id``. Ids sort by time."""
    label: str
    """The version of the agents or models that was evaluated."""
    model: str
    judge: str | None
    began_at: datetime
    published_by: str
    published_at: datetime
    cases: int
    runs: int
    passed: float | None
    """The share of runs that passed; None if none was judged."""
    low: float | None
    """The lower end of the 95% confidence interval of ``passed``."""
    high: float | None
    """The upper end of that interval."""
    agent_id: str | None = None
    """The agent of a tenant whose version was evaluated; None for other evaluations."""
    agent_version: int | None = None
    not_run: int = 0
    """Runs that did not take place."""
    passes: int | None = None
    """Runs that passed; None in entries that were stored without it."""

    @property
    def share_of_runs(self) -> float | None:
        """The share of all runs that passed. Runs that were not judged count as not passed. None without results.

        For an entry without ``passes``, it is the share of the judged runs.
        """
        if self.passed is None or self.passes is None or not self.runs:
            return self.passed
        return self.passes / self.runs

    @property
    def expires_at(self) -> datetime:
        """The time from which it is no longer served."""
        return self.published_at + RETENTION


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An evaluation with its details."""

    entry: EvaluationEntry
    details: Mapping[str, Any]
    """Metrics and cases, as they are served."""


def make_evaluation_id(began_at: datetime, name: str) -> str:
    """Return the id of the evaluation ``name``, which sorts by its beginning."""
    return f"{to_millis(began_at):015d}-{name}"
