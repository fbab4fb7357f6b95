"""Expectations: each is met by what it names, and not met by anything else."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from baton_testing.checking import find_unmet
from baton_testing.conversation_test import Expectation
from baton_testing.durations import Duration
from baton_testing.matching import matches_partly
from baton_testing.observation import Called, Observation, Said
from baton_testing.reports.report import estimate_pass_hat_k

SEEN = Observation(
    said=(Said("assistant", "Assistant", "It is\n on its WAY."),),
    calls=(Called("orders", "order_status", {"number": "A-1", "deep": {"a": [1, {"b": 2, "c": 3}]}}, "x", True),),  # noqa: FBT003
    consulted=("orders",),
    handoffs=("maker",),
    returns=1,
    workflow_states=("ASK", "BUILD"),
    workflow="BUILD",
    approvals=("delete",),
    questions=("Delete home for good?\nReason: Old",),
    closings=("Timeout",),
    result={"city": "Oslo", "degrees": -3},
    tokens=100,
    milliseconds=5.0,
)
CALL = {"tool": "order_status"}


@pytest.mark.parametrize(
    ("met", "not_met"),
    [
        (CALL, {"tool": "order_list"}),
        ({**CALL, "arguments": {"number": "A-1"}}, {**CALL, "arguments": {"number": "A-2"}}),
        ({**CALL, "arguments": {"deep": {"a": [1, {"b": 2}]}}}, {**CALL, "arguments": {"deep": {"a": [1]}}}),
        ({**CALL, "by": "orders"}, {**CALL, "by": "assistant"}),
        ({**CALL, "times": 1}, {**CALL, "times": 2}),
        ({"no_tool": "order_list"}, {"no_tool": ["order_list", "order_status"]}),
        ({"consulted": "orders"}, {"consulted": ["orders", "research"]}),
        ({"not_consulted": "research"}, {"not_consulted": "orders"}),
        ({"handoff": "maker"}, {"handoff": "orders"}),
        ({"returned": True, "no_handoff": False}, {"no_handoff": True}),
        ({"workflow": "BUILD"}, {"workflow": "DONE"}),
        ({"approval": "delete"}, {"approval": "order_status"}),
        ({"asks": ["delete HOME", "reason: old"]}, {"asks": ["delete home", "reason: new"]}),
        ({"answered_by": "assistant"}, {"answered_by": "orders"}),
        ({"says": ["is on its way"]}, {"says": "lost"}),
        ({"says_not": "lost"}, {"says_not": ["lost", "Way"]}),
        ({"matches": r"WAY\.$"}, {"matches": "^way"}),
        ({"result": {"city": "Oslo"}}, {"result": {"city": "Bergen"}}),
        ({"closed": True}, {"closed": False}),
        ({"max_tokens": 100}, {"max_tokens": 99}),
        ({"max_milliseconds": 5}, {"max_milliseconds": 4.9}),
    ],
)
def test_an_expectation_is_met_by_what_it_names_only(met: dict[str, Any], not_met: dict[str, Any]) -> None:
    assert list(find_unmet(Expectation.model_validate(met), SEEN)) == []
    assert len(list(find_unmet(Expectation.model_validate(not_met), SEEN))) == 1


def test_a_result_is_not_met_by_text() -> None:
    expected = Expectation(result={"city": "Oslo"})
    reported = [problem.happened for problem in find_unmet(expected, replace(SEEN, result=None))]
    assert reported == ["no structured answer was given to the user"]


def test_a_workflow_that_refuses_data_is_in_the_state_where_it_stayed() -> None:
    stayed = replace(SEEN, workflow_states=())
    assert list(find_unmet(Expectation(workflow="BUILD"), stayed)) == []
    happened = [unmet.happened for unmet in find_unmet(Expectation(workflow="DONE"), stayed)]
    assert happened == ["it stayed in BUILD"]


def test_a_workflow_that_has_not_begun_is_in_no_state() -> None:
    none = replace(SEEN, workflow_states=(), workflow=None)
    assert [unmet.happened for unmet in find_unmet(Expectation(workflow="DONE"), none)] == ["no workflow has begun"]


def test_an_error_is_met_by_its_code() -> None:
    expected = Expectation(error="model_timeout")
    assert list(find_unmet(expected, replace(SEEN, error="model_timeout"))) == []
    assert [problem.happened for problem in find_unmet(expected, SEEN)] == ["no error"]


@pytest.mark.parametrize("wrong", [{}, {"arguments": {}}, {"matches": "("}, {"colour": "red"}, {"max_tokens": 0}])
def test_an_expectation_that_means_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Expectation.model_validate(wrong)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_every_value_holds_itself(value: Any) -> None:
    assert matches_partly(value, value)


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4), st.text(max_size=3))
def test_an_object_holds_itself_without_a_member_and_not_the_other_way_round(value: dict[str, Any], name: str) -> None:
    less = {key: item for key, item in value.items() if key != name}
    assert matches_partly(value, less)
    assert matches_partly(less, value) is (less == value)


def test_true_is_not_one() -> None:
    assert not matches_partly(1, True)  # noqa: FBT003
    assert not matches_partly(True, 1)  # noqa: FBT003


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.data())
def test_pass_hat_k_is_the_share_of_choices_of_k_runs_that_all_passed(runs: list[bool], data: st.DataObject) -> None:
    from itertools import combinations

    k = data.draw(st.integers(1, len(runs)))
    chosen = list(combinations(runs, k))
    assert estimate_pass_hat_k(len(runs), sum(runs), k) == pytest.approx(sum(map(all, chosen)) / len(chosen))


@pytest.mark.parametrize(
    ("expected", "meant"),
    [
        ("90 minutes", timedelta(minutes=90)),
        ("3 days", timedelta(days=3)),
        ("1 hour 30 minutes", timedelta(minutes=90)),
        ("2h", timedelta(hours=2)),
        ("1.5 h", timedelta(minutes=90)),
        ("10 s", timedelta(seconds=10)),
    ],
)
def test_times_are_written_as_people_write_them(expected: str, meant: timedelta) -> None:
    assert TypeAdapter(Duration).validate_python(expected) == meant


@pytest.mark.parametrize(
    "expected",
    ["soon", "", "0 s", "3 fortnights", "days", "1000000 days", "99999999999999 weeks", f"{'9' * 400} s", 90, -5, True],
)
def test_what_is_no_time_is_refused(expected: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Duration).validate_python(expected)
