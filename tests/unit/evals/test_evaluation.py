"""An evaluation in progress: its order, its bounds, and its ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from baton_testing.errors import CannotRun
from baton_testing.evals import evaluation
from baton_testing.evals.answer import Answer
from baton_testing.evals.dataset import EvalCase
from baton_testing.evals.evaluation import Evaluation
from baton_testing.evals.reading import ReadCase
from baton_testing.evals.spending import Budget


class Echo:
    """A target that notes which runs it has held, and how many at once."""

    def __init__(self, *, usd: float | None = 0.5, problem: Exception | None = None) -> None:
        self.held: list[tuple[str, int]] = []
        self.most = 0
        self._now = 0
        self._usd = usd
        self._problem = problem

    async def hold(self, case: ReadCase, attempt: int) -> Answer:
        self.held.append((case.case.name, attempt))
        self._now += 1
        self.most = max(self.most, self._now)
        await asyncio.sleep(1)
        self._now -= 1
        if self._problem is not None:
            raise self._problem
        return Answer(text="x" * 10, transcript=("y" * 10,), usd=self._usd)


def make_evaluation(
    target: Echo, *, cases: int = 3, repeat: int = 2, concurrency: int = 2, most: float | None = None
) -> Evaluation:
    checks = [{"type": "contains", "text": "x"}]
    read = [
        ReadCase(Path("cases.jsonl"), n, EvalCase.model_validate({"name": str(n), "input": "Hi", "checks": checks}))
        for n in range(cases)
    ]
    return Evaluation(target, read, repeat, concurrency, Budget(most))


async def test_all_cases_are_held_once_before_one_is_repeated_and_no_more_at_once_than_allowed() -> None:
    target = Echo()
    running = make_evaluation(target)
    await running.run()
    assert target.held == [("0", 0), ("1", 0), ("2", 0), ("0", 1), ("1", 1), ("2", 1)]
    assert target.most == 2
    assert [[run.passed for run in case.runs] for case in running.make_records()] == [[True, True]] * 3


async def test_nothing_begins_when_the_money_is_spent_or_a_cost_is_not_known() -> None:
    spent = make_evaluation(Echo(), concurrency=1, most=1.0)
    await spent.run()
    assert (len(spent.done), spent.stopped) == (2, "--max-usd: 1.0000 USD are spent.")
    unknown = make_evaluation(Echo(usd=None), concurrency=1, most=1.0)
    await unknown.run()
    assert len(unknown.done) == 1
    assert "is not known" in str(unknown.stopped)


async def test_an_unexpected_error_fails_its_run_and_one_that_concerns_all_ends_the_evaluation() -> None:
    failing = make_evaluation(Echo(problem=RuntimeError("odd")))
    await failing.run()
    assert all(run.passed is False and "odd" in str(run.error) for run in failing.done.values())
    with pytest.raises(CannotRun, match="no such model"):
        await make_evaluation(Echo(problem=CannotRun("no such model"))).run()


async def test_what_is_kept_of_runs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "MAX_KEPT", 45)
    running = make_evaluation(Echo(), concurrency=1)
    await running.run()
    runs = [running.done[number, attempt] for attempt in range(2) for number in range(3)]
    assert [(len(run.answer), len(run.transcript)) for run in runs] == [
        (10, 1),
        (10, 1),
        (0, 0),
        (0, 0),
        (0, 0),
        (0, 0),
    ]
    assert all(run.passed for run in runs)


def test_runs_are_bounded() -> None:
    with pytest.raises(CannotRun, match="runs are too many"):
        make_evaluation(Echo(), cases=300, repeat=100)


async def test_half_of_a_character_in_an_answer_loses_no_results() -> None:
    class Halves(Echo):
        async def hold(self, case: ReadCase, attempt: int) -> Answer:
            return Answer(text="x\ud83d", transcript=("y\ud83d",), notes=("z\ud83d",), error="e\ud83d", thread_id="t")

    running = make_evaluation(Halves())
    await running.run()
    assert [run.model_dump_json() for run in running.done.values()]
    assert {run.answer for run in running.done.values()} == {"x\ufffd"}


async def test_a_check_that_fails_by_itself_is_not_judged_and_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OverflowError("int too large to convert to float")

    monkeypatch.setattr(evaluation, "score", fail)
    running = make_evaluation(Echo())
    await running.run()
    assert len(running.done) == running.total
    assert {run.passed for run in running.done.values()} == {None}
    assert "int too large" in running.done[0, 0].reasons[0]
