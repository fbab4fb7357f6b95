"""Scores without a model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from baton_testing.evals.answer import Answer, Source
from baton_testing.evals.checks import AnyCheck
from baton_testing.evals.dataset import EvalCase
from baton_testing.evals.scoring import compute_recall_and_precision, score
from baton_testing.evals.similarity import compute_rouge_l, compute_token_f1
from baton_testing.observation import Called

CHECK: TypeAdapter[AnyCheck] = TypeAdapter(AnyCheck)
words = st.lists(st.sampled_from(["the", "order", "is", "on", "its", "way", "Ärger"]), max_size=12).map(" ".join)
ORDER = Called("orders", "order_status", {"number": "A-1001", "deep": {"x": 1, "y": 2}}, "ok", succeeded=True)
REFUND = Called("support", "refund", {"number": "A-1001"}, "ok", succeeded=True)
HANDBOOK, RETURNS = Source("doc_1", "Handbook", "https://x.test/h", "handbook.md"), Source("doc_2", "Returns")
ANSWER = Answer(
    text="Your order\n A-1001 is on its way.",
    answered_by="support",
    calls=(ORDER, REFUND),
    consulted=("orders",),
    handoffs=("repairs",),
    sources=(RETURNS,),
    retrieved=(RETURNS, HANDBOOK, RETURNS),
    tokens=120,
    usd=0.02,
)


@given(words, words)
def test_similarity_is_between_0_and_1_and_symmetric(one: str, other: str) -> None:
    for measure in (compute_token_f1, compute_rouge_l):
        assert 0 <= measure(one, other) <= 1
        assert measure(one, other) == measure(other, one)
        assert measure(one, one) == 1


@given(words, words)
def test_the_order_of_words_can_only_lower_similarity(one: str, other: str) -> None:
    assert compute_rouge_l(one, other) <= compute_token_f1(one, other) + 1e-12


@given(words, words)
def test_the_longest_common_sequence_is_that_of_the_table(one: str, other: str) -> None:
    columns, rows = one.casefold().split(), other.casefold().split()
    table = [[0] * (len(rows) + 1) for _ in range(len(columns) + 1)]
    for i, a in enumerate(columns):
        for j, b in enumerate(rows):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    expected = 2 * table[-1][-1] / (len(columns) + len(rows)) if columns or rows else 1.0
    assert compute_rouge_l(one, other) == pytest.approx(expected)


def test_similarity_has_known_values() -> None:
    # Lin 2004, section 3.1: "police kill the gunman" has the longest common sequence "police the gunman".
    assert compute_rouge_l("police kill the gunman", "police killed the gunman") == pytest.approx(0.75)
    assert compute_rouge_l("the gunman kill police", "police killed the gunman") == pytest.approx(0.5)
    assert compute_token_f1("The GUNMAN kill police", "police killed the gunman") == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        ({"type": "contains", "text": ["your ORDER a-1001", "way"]}, True),
        ({"type": "contains", "text": "your", "ignore_case": False}, False),
        ({"type": "not_contains", "text": ["refund", "lost"]}, True),
        ({"type": "not_contains", "text": ["refund", "way"]}, False),
        ({"type": "regex", "pattern": r"A-\d{4}\b"}, True),
        ({"type": "regex", "pattern": "^order"}, False),
        ({"type": "equals", "text": "Your order A-1001 is on its way."}, True),
        ({"type": "equals", "text": "your order a-1001 is on its way."}, False),
        ({"type": "json_equals", "value": {}}, False),
        ({"type": "tool_called", "tool": "order_status", "arguments": {"deep": {"x": 1}}, "by": "orders"}, True),
        ({"type": "tool_called", "tool": "order_status", "by": "support"}, False),
        ({"type": "tool_called", "tool": "refund", "times": 2}, False),
        ({"type": "tool_not_called", "tool": ["delete", "refund"]}, False),
        ({"type": "tool_order", "tools": ["order_status", "refund"]}, True),
        ({"type": "tool_order", "tools": ["refund", "order_status"]}, False),
        ({"type": "consulted", "agent": "orders"}, True),
        ({"type": "handed_off_to", "agent": "faq"}, False),
        ({"type": "answered_by", "agent": "support"}, True),
        ({"type": "cites", "documents": "returns"}, True),
        ({"type": "cites", "documents": ["Returns", "handbook.md"]}, False),
        ({"type": "cites", "documents": ["Returns", "handbook.md"], "threshold": 0.5}, True),
        ({"type": "cites", "documents": ["Returns", "a", "b", "c", "d"], "threshold": 0.2}, True),
        ({"type": "max_tokens", "tokens": 119}, False),
        ({"type": "max_cost", "usd": 0.02}, True),
    ],
)
def test_a_check_holds_or_says_why_it_does_not(check: dict[str, Any], passed: bool) -> None:
    [result] = _score(check)
    assert result.passed is passed
    assert bool(result.reason) is not passed


@pytest.mark.parametrize(
    ("text", "value", "partial", "passed"),
    [
        ('{"a": 1, "b": [true]}', {"b": [True], "a": 1.0}, False, True),
        ('{"a": 1, "b": 2}', {"a": 1}, False, False),
        ('{"a": 1, "b": 2}', {"a": 1}, True, True),
        ('{"a": true}', {"a": 1}, False, False),
        ('Here it is:\n```json\n{"a": 1}\n```', {"a": 1}, False, True),
        ("[" * 100_000, [], False, False),
        ("no", None, False, False),
    ],
)
def test_json_is_compared_as_values(text: str, value: Any, partial: bool, passed: bool) -> None:
    check = {"type": "json_equals", "value": value, "partial": partial}
    [result] = score(CHECK.validate_python(check), _case(check), Answer(text=text))
    assert result.passed is passed


def test_a_schema_reports_the_place() -> None:
    check = {"type": "json_schema", "schema": {"properties": {"a": {"type": "integer"}}}}
    [result] = score(CHECK.validate_python(check), _case(check), Answer(result={"a": "x"}))
    assert result.reason == "$.a: 'x' is not of type 'integer'"


def test_a_schema_reaches_nothing_outside_of_itself() -> None:
    check = {"type": "json_schema", "schema": {"$ref": "http://127.0.0.1:9/schema.json"}}
    [result] = score(CHECK.validate_python(check), _case(check), Answer(result={}))
    assert result.passed is False
    assert "cannot be used" in result.reason


def test_what_is_not_on_record_is_not_judged_and_not_failed() -> None:
    unknown = Answer(text="Hello")
    for check in ({"type": "retrieves", "documents": "Returns"}, {"type": "max_cost", "usd": 1}):
        for result in score(CHECK.validate_python(check), _case(check), unknown):
            assert (result.passed, result.value) == (None, None)
            assert result.reason


def test_retrieval_has_a_score_for_recall_and_one_for_precision() -> None:
    recall, precision = _score({"type": "retrieves", "documents": ["Returns", "Missing"], "k": 3, "min_recall": 0.5})
    assert (recall.metric, recall.value, recall.passed) == ("retrieves.recall@3", 0.5, True)
    assert (precision.metric, precision.passed) == ("retrieves.precision@3", True)
    assert precision.value == pytest.approx(2 / 3)


names = st.lists(st.sampled_from("abcdef"), max_size=10)


@given(names, st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6, unique=True), st.integers(1, 12))
def test_more_passages_never_lower_recall(retrieved: list[str], relevant: list[str], k: int) -> None:
    sources = [Source(title=name) for name in retrieved]
    recall, precision = compute_recall_and_precision(sources, relevant, k)
    assert 0 <= recall <= compute_recall_and_precision(sources, relevant, k + 1)[0] <= 1
    assert 0 <= precision <= 1


def _score(check: dict[str, Any]) -> list[Any]:
    return score(CHECK.validate_python(check), _case(check), ANSWER)


def _case(check: dict[str, Any]) -> EvalCase:
    return EvalCase.model_validate({"name": "A case", "input": "Hello", "checks": [check]})


DEEP = 900


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        f"```json\n{'[' * 100_000}\n```",
        f"{'[' * DEEP}{']' * DEEP}",
        '{"a": "\\ud800"}',
        '{"\\ud800": 1}',
        "NaN",
        "1" * 5_000,
        "1" + "0" * 400,
        "1e999",
        "",
    ],
)
@pytest.mark.parametrize(
    "check",
    [
        {"type": "json_equals", "value": {"a": 1}},
        {"type": "json_equals", "value": {"a": [1]}, "partial": True},
        {"type": "json_schema", "schema": {"type": "object", "additionalProperties": False}},
        {"type": "json_schema", "schema": {"multipleOf": 0.1}},
        {"type": "json_schema", "schema": {"propertyNames": {"pattern": "^a"}}},
        {"type": "equals", "text": "a"},
        {"type": "regex", "pattern": "(a+)+$"},
    ],
)
def test_no_answer_of_a_model_breaks_a_check(text: str, check: dict[str, Any]) -> None:
    for result in score(CHECK.validate_python(check), _case(check), Answer(text=text)):
        assert result.passed in (True, False, None)
        result.model_dump_json()


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"pattern": "("}, "cannot be used"),
        ({"patternProperties": {"(": {}}}, "cannot be used"),
        ({"items": {"anyOf": [{"pattern": "(?=a)b"}]}}, "linear time"),
        ({"unevaluatedProperties": False}, "not checked"),
        ({"unevaluatedItems": False}, "not checked"),
        ({"patternProperties": {"a": {}}, "additionalProperties": False}, "not checked"),
    ],
)
def test_a_schema_that_cannot_be_checked_is_refused_where_it_is_written(schema: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        CHECK.validate_python({"type": "json_schema", "schema": schema})


def test_a_pattern_of_a_schema_takes_linear_time() -> None:
    check = {"type": "json_schema", "schema": {"properties": {"a": {"pattern": "^(a+)+$"}}}}
    [results] = score(CHECK.validate_python(check), _case(check), Answer(result={"a": "a" * 50_000 + "!"}))
    assert results.passed is False
