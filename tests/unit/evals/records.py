"""Evaluations with given results."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from baton_testing.evals.results import CaseRecord, EvaluationRecord, RunRecord, Score


def record(*cases: Sequence[bool | None], label: str = "one") -> EvaluationRecord:
    """Return an evaluation whose cases have runs with these results."""
    results = [
        CaseRecord(
            name=f"case {number}",
            place=f"cases.jsonl:{number + 1}",
            runs=tuple(
                RunRecord(
                    passed=passed,
                    scores=(Score(metric="judge", value=None if passed is None else float(passed), passed=passed),),
                )
                for passed in runs
            ),
        )
        for number, runs in enumerate(cases)
    ]
    began_at = datetime(2026, 11, 26, tzinfo=UTC)
    return EvaluationRecord(label=label, model="m", repeat=1, began_at=began_at, seconds=1, cases=tuple(results))
