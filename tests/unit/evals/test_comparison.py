"""Comparisons of two evaluations: the verdict needs more than chance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton_testing.evals.comparison import Verdict, compare
from baton_testing.evals.results import EvaluationRecord, RunRecord, Score
from baton_testing.evals.summary import summarise
from tests.unit.evals.records import record

outcomes = st.lists(st.lists(st.booleans(), min_size=1, max_size=3), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ([[False]] * 6 + [[True]] * 10, [[True]] * 16, Verdict.BETTER),
        ([[True]] * 16, [[False]] * 6 + [[True]] * 10, Verdict.WORSE),
        ([[False]] * 5 + [[True]] * 10, [[True]] * 15, Verdict.NO_DIFFERENCE),
        ([[True, False]] * 20, [[False, True]] * 20, Verdict.NO_DIFFERENCE),
        ([[False]], [[True]], Verdict.NO_DIFFERENCE),
        ([[True, False]] * 8, [[True, True]] * 8, Verdict.BETTER),
    ],
)
def test_the_verdict_needs_more_than_chance(
    before: list[list[bool]], after: list[list[bool]], verdict: Verdict
) -> None:
    assert compare(record(*before), record(*after)).verdict is verdict


@given(outcomes, outcomes)
def test_a_comparison_the_other_way_round_has_the_opposite_verdict(
    one: list[list[bool]], other: list[list[bool]]
) -> None:
    opposite = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}
    there, back = compare(record(*one), record(*other)), compare(record(*other), record(*one))
    assert back.verdict is opposite.get(there.verdict, there.verdict)
    assert (there.improved, there.worsened) == (back.worsened, back.improved)


@given(outcomes)
def test_nothing_differs_from_itself(cases: list[list[bool]]) -> None:
    result = compare(record(*cases), record(*cases))
    assert {difference.verdict for difference in result.differences} == {Verdict.NO_DIFFERENCE}
    assert (result.improved, result.worsened, result.unpaired) == ((), (), 0)


def test_cases_are_paired_by_name_and_those_without_a_pair_are_counted() -> None:
    result = compare(record([True], [None], [True]), record([False], [True]))
    assert result.worsened == ("case 0",)
    assert result.unpaired == 2


def test_what_was_not_judged_is_neither_passed_nor_failed() -> None:
    summary = summarise(record([True, None], [None], [False, True]))
    assert (summary.passed.mean, summary.passed.runs, summary.passed.not_judged) == (pytest.approx(2 / 3), 3, 2)
    assert summary.flaky == ("case 2",)
    nothing = summarise(record([None]))
    assert (nothing.passed.mean, nothing.passed.low) == (None, None)


def test_a_measure_has_one_form_whatever_its_values_are() -> None:
    def make_measured(*values: float) -> EvaluationRecord:
        runs = tuple(
            RunRecord(passed=True, scores=(Score(metric="similarity.token_f1", value=value, passed=True),))
            for value in values
        )
        one = record([True])
        return one.model_copy(update={"cases": (one.cases[0].model_copy(update={"runs": runs}),)})

    assert [summarise(make_measured(*values)).metrics[1].is_rate for values in [(1.0, 1.0), (0.5, 1.0)]] == [
        False,
        False,
    ]
