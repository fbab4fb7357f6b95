"""The report of a whole run of tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

from baton_testing.reports.result import ConversationResult, Failure, RunResult


@dataclass(frozen=True, slots=True)
class Report:
    """Results in the order of the tests."""

    results: Sequence[ConversationResult]
    not_run: int = 0
    """The number of tests that were not run, because the run ended early."""
    seconds: float = 0.0

    @property
    def failed(self) -> list[ConversationResult]:
        """The tests that failed."""
        return [result for result in self.results if not result.passed]

    @property
    def passed(self) -> bool:
        """Whether all tests were run and passed."""
        return not self.failed and not self.not_run

    @property
    def pass_hat(self) -> Mapping[int, float]:
        """The estimates of pass^k by k, over the tests with more than one run; empty without such tests.

        The largest k is the fewest runs of such a test. See ``estimate_pass_hat_k``.
        """
        repeated = [result for result in self.results if len(result.runs) > 1]
        most = min((len(result.runs) for result in repeated), default=0)
        return {
            k: sum(estimate_pass_hat_k(len(result.runs), result.passes, k) for result in repeated) / len(repeated)
            for k in range(1, most + 1)
        }

    def as_json(self) -> dict[str, Any]:
        """Return the report as one JSON object."""
        return {
            "ok": self.passed,
            "passed": len(self.results) - len(self.failed),
            "failed": len(self.failed),
            "notRun": self.not_run,
            "seconds": round(self.seconds, 3),
            "passHatK": {str(k): round(value, 4) for k, value in self.pass_hat.items()},
            "conversations": [_result_as_json(result) for result in self.results],
        }


def estimate_pass_hat_k(runs: int, passes: int, k: int) -> float:
    """Estimate the probability that ``k`` independent runs of a test all pass, without bias: C(c, k) / C(n, k).

    The measure and its estimator are those of tau-bench: Yao, Shinn, Razavi, Narasimhan, "tau-bench: A Benchmark for
    Tool-Agent-User Interaction in Real-World Domains", 2024, arXiv:2406.12045, section 3. Raises ``ValueError`` for a
    ``k`` below 1 or beyond ``runs``.
    """
    if not 1 <= k <= runs:
        raise ValueError("k must be from 1 to the number of runs")
    return comb(passes, k) / comb(runs, k)


def _result_as_json(result: ConversationResult) -> dict[str, Any]:
    return {
        "file": str(result.file),
        "line": result.line,
        "name": result.name,
        "passed": result.passed,
        "runs": [_run_as_json(run) for run in result.runs],
    }


def _run_as_json(run: RunResult) -> dict[str, Any]:
    return {
        "passed": run.passed,
        "tokens": run.tokens,
        "milliseconds": round(run.milliseconds, 1),
        "seconds": round(run.seconds, 3),
        "failures": [_failure_as_json(failure) for failure in run.failures],
        "transcript": list(run.transcript) if run.failures else [],
        "notes": list(run.notes),
    }


def _failure_as_json(failure: Failure) -> dict[str, str]:
    return {"place": failure.place, "step": failure.step, "expected": failure.expected, "happened": failure.happened}
