"""Values against schemas from outside: jsonschema's verdicts, within a number of steps."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema._utils import equal
from jsonschema.validators import validator_for

from baton.concurrency.tasks import LARGE
from baton.domain.json_values import write_canonical_text
from baton.domain.schemas import schema_validator
from baton.domain.schemas.schema_validator import (
    MAX_ERRORS,
    MAX_STEPS,
    UncheckableValue,
    estimate_check_size,
    find_validation_errors,
    sort_by_relevance,
)

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([0, 1, 1.0, -0.0, 2, 2.5, True, False, None, "1", "true", "a", 1e300, 10**20]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=6))
def test_values_are_unique_if_no_two_are_equal(values: list[Any]) -> None:
    repeated = any(equal(one, other) for index, one in enumerate(values) for other in values[:index])
    assert bool(find_validation_errors({"uniqueItems": True}, values)) is repeated


@given(VALUES, VALUES)
def test_equal_values_have_equal_texts(one: Any, other: Any) -> None:
    assert (write_canonical_text(one) == write_canonical_text(other)) is equal(one, other)


@given(st.lists(VALUES, max_size=4), VALUES)
def test_a_value_is_one_of_an_enum_if_it_equals_one(options: list[Any], value: Any) -> None:
    is_option = any(equal(value, option) for option in options)
    assert bool(find_validation_errors({"enum": options}, value)) is not is_option
    if options:
        assert bool(find_validation_errors({"const": options[0]}, value)) is not equal(value, options[0])


LEAVES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.sampled_from(
        [
            {"type": "integer"},
            {"type": ["string", "array"]},
            {"minimum": 1},
            {"exclusiveMaximum": 2},
            {"multipleOf": 0.5},
            {"minItems": 2},
            {"maxProperties": 1},
            {"required": ["a"]},
            {"pattern": "^[a-z]$"},
            {"dependentRequired": {"a": ["b"]}},
            {"uniqueItems": True},
            {"additionalProperties": False},
            {"$ref": "#/$defs/leaf"},
            {},
        ]
    ),
    st.lists(VALUES, max_size=3).map(lambda options: {"enum": options}),
)
SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    LEAVES | st.booleans(),
    lambda inner: st.one_of(
        st.sampled_from(["items", "contains", "not", "additionalProperties", "propertyNames"]).flatmap(
            lambda keyword: inner.map(lambda schema: {keyword: schema})
        ),
        st.sampled_from(["allOf", "anyOf", "oneOf", "prefixItems"]).flatmap(
            lambda keyword: st.lists(inner, min_size=1, max_size=3).map(lambda schemas: {keyword: schemas})
        ),
        st.tuples(inner, inner, inner).map(lambda entry: dict(zip(("if", "then", "else"), entry, strict=True))),
        st.tuples(inner, inner).map(
            lambda entry: {"properties": {"a": entry[0]}, "patternProperties": {"^b": entry[1]}}
        ),
        inner.map(lambda schema: {"properties": {"a": schema}, "unevaluatedProperties": False}),
        inner.map(lambda schema: {"prefixItems": [schema], "unevaluatedItems": False}),
        inner.map(lambda schema: {"dependentSchemas": {"a": schema}}),
    ),
    max_leaves=5,
)


@given(SCHEMAS, VALUES)
def test_the_verdict_is_that_of_jsonschema(schema: Any, value: Any) -> None:
    """Except what is additional or unevaluated beside patterns of names, or unevaluated beside references."""
    text = str(schema)
    if "patternProperties" in text and ("additionalP" in text or "unevaluated" in text):
        return
    if "unevaluated" in text and "$ref" in text:
        return
    whole = {"$defs": {"leaf": {"type": ["integer", "array"]}}, "allOf": [schema]}
    expected = [error.validator for error in Draft202012Validator(whole).iter_errors(value)]
    assert [error.validator for error in find_validation_errors(whole, value)] == expected


@pytest.mark.parametrize("value", [10**400, float("inf"), float("-inf"), float("nan"), -(10**400) + 1])
@pytest.mark.parametrize("step", [0.1, 7, 1e-300])
def test_a_number_that_is_out_of_all_proportion_is_a_multiple_of_nothing_or_fits(value: float, step: float) -> None:
    assert len(find_validation_errors({"multipleOf": step}, value)) <= 1


def objects(count: int) -> list[Any]:
    return [{"a": number} for number in range(count)]


def make_doubled(levels: int, keyword: str) -> dict[str, Any]:
    schema: Any = {"type": "integer"}
    for _ in range(levels):
        schema = {keyword: [{"items": schema}, schema, {"not": schema}]}
    return schema  # type: ignore[no-any-return]


PAIRS = {f"A{number}": {"allOf": [{"$ref": f"#/$defs/A{number + 1}"}] * 2} for number in range(40)}
ENDLESS: dict[str, tuple[Any, Any]] = {
    "uniqueItems again and again": ({"allOf": [{"uniqueItems": True}] * 900}, objects(3_000)),
    "a large const": ({"allOf": [{"const": list(range(9_000))}] * 900}, list(range(9_000))),
    "references that multiply": ({"$ref": "#/$defs/A0", "$defs": {**PAIRS, "A40": {}}}, {}),
    "alternatives that multiply": (make_doubled(14, "oneOf"), {}),
    "a long text in each error": ({"anyOf": [{"type": "integer"}] * 900}, "x" * 100_000),
    "a large value in each error": ({"anyOf": [{"minItems": 99_999}] * 900}, list(range(10_000))),
    "a large schema in each error": ({"items": {"not": {"description": "x" * 60_000}}}, list(range(2_000))),
    "alternatives in each error": ({"items": {"oneOf": [{"title": "x" * 50}] * 500}}, list(range(2_000))),
    "errors that come up a long way": ({"anyOf": [nested := {"items": {"items": {"type": "string"}}}]}, [[0] * 99_999]),
    "unknown keywords": ({"items": {f"x{number}": 1 for number in range(10_000)}}, list(range(10_000))),
    "many properties": ({"items": {"properties": {f"p{n}": {} for n in range(1_000)}}}, [{}] * 9_000),
    "many required": ({"items": {"anyOf": [{"required": [f"p{n}" for n in range(1_000)]}]}}, [{}] * 9_000),
    "patterns of names": ({"patternProperties": {f"^x{n}": {} for n in range(300)}}, {f"k{n}": 1 for n in range(999)}),
    "a heavy pattern": ({"pattern": ".*a.{900}z$"}, "ab" * 50_000),
    "heavy patterns": ({"allOf": [{"pattern": f"[ab]*a[ab]{{{400 + n}}}z"} for n in range(99)]}, "ab" * 5_000),
    "contains": ({"allOf": [{"contains": {"const": -1}}] * 900}, list(range(10_000))),
    "if": ({"allOf": [{"if": {"items": {"type": "integer"}}, "then": {"uniqueItems": True}}] * 300}, [*range(3_000)]),
    "unevaluated items": ({"unevaluatedItems": False}, list(range(10_000))),
    "unevaluated properties": ({"unevaluatedProperties": False}, {f"k{number}": 1 for number in range(10_000)}),
    "a reference to itself": ({"$ref": "#"}, {}),
    "a long reference": ({"items": {"$ref": "#" + "/not" * 300}, "not": {}}, list(range(5_000))),
}


@pytest.mark.parametrize(("schema", "value"), ENDLESS.values(), ids=ENDLESS)
def test_a_check_ends_after_a_bounded_number_of_steps(schema: Any, value: Any) -> None:
    with pytest.raises(UncheckableValue):
        find_validation_errors(schema, value)


@pytest.mark.parametrize(
    ("schema", "value", "fits"),
    [
        ({"uniqueItems": True}, objects(3_000), True),
        ({"uniqueItems": True}, [*range(5_000), *map(str, range(5_000))], True),
        ({"uniqueItems": True}, [{"a": 1, "b": 2}, *objects(3_000), {"b": 2.0, "a": 1}], False),
        ({"items": {"enum": list(range(5_000))}}, list(range(5_000)), True),
        ({"items": {"type": "string", "minLength": 1, "maxLength": 5}}, ["a"] * 10_000, True),
        ({"items": {"$ref": "#/$defs/row"}, "$defs": {"row": {"required": ["a"]}}}, objects(5_000), True),
        ({"pattern": "^(a+)+$"}, "a" * 100_000 + "!", False),
        ({"pattern": "(?=a)b"}, "c", True),  # re2 does not take it
    ],
)
def test_large_values_are_checked(schema: Any, value: Any, *, fits: bool) -> None:
    assert (find_validation_errors(schema, value) == []) is fits


@pytest.mark.parametrize("keyword", ["not", "contains", "if", "oneOf", "allOf", "items"])
@pytest.mark.parametrize("draft", [DRAFT_4, "https://json-schema.org/draft/2020-12/schema"])
def test_a_schema_within_a_schema_brings_no_other_checks(
    keyword: str, draft: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ``$schema`` there would make jsonschema use its own class, with patterns by ``re``."""
    original = validator_for({"$schema": draft}).VALIDATORS
    monkeypatch.setitem(original, "pattern", lambda *_: pytest.fail("matched by re"))
    inner = {"$schema": draft, "pattern": "^(a+)+$"}
    schema = {keyword: [inner, inner] if keyword.endswith("Of") else inner}
    find_validation_errors(schema, ["a" * 40 + "!"])
    find_validation_errors(schema, "a" * 40 + "!")


def test_no_pattern_of_a_schema_is_given_to_re(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = "^(a+)+$"
    compile_pattern = re._compile  # type: ignore[attr-defined]

    def note_pattern(text: Any, flags: Any) -> Any:
        assert pattern not in str(text)
        return compile_pattern(text, flags)

    monkeypatch.setattr(re, "_compile", note_pattern)
    schema = {
        "patternProperties": {pattern: {"pattern": pattern}},
        "propertyNames": {"pattern": pattern},
        "additionalProperties": False,
        "unevaluatedProperties": False,
    }
    for draft in (DRAFT_4, "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"):
        find_validation_errors({"$schema": draft, **schema}, {"a" * 40 + "!": "a" * 40 + "!"})


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#name", "$defs": {"a": {"$anchor": "name"}}},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$id": "https://example.com/a", "$ref": "#/$defs/b"}}},
        {"$ref": "#/required", "required": []},
    ],
)
def test_references_by_names_and_ids_are_not_followed(schema: Any) -> None:
    with pytest.raises(UncheckableValue):
        find_validation_errors(schema, {})


def test_the_number_of_collected_errors_is_bounded() -> None:
    errors = find_validation_errors({"items": {"type": "string"}}, [*range(5_000)])
    assert len(errors) == MAX_ERRORS
    assert sort_by_relevance(errors)[-1].validator == "type"


def test_an_error_quotes_little_of_a_large_value() -> None:
    [error] = find_validation_errors({"enum": ["x" * 1_000]}, "y" * 5_000)
    assert error.message == "a value of 5,002 characters is not one of 1 values"


def test_the_same_check_takes_the_same_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    schema, value = {"items": {"type": "object", "required": ["a"]}}, objects(100)
    takes = 0
    monkeypatch.setattr(schema_validator, "check_cancelled", lambda: count())

    def count() -> None:
        nonlocal takes
        takes += 1

    find_validation_errors(schema, value)
    first, takes = takes, 0
    find_validation_errors(schema, value)
    assert first == takes < MAX_STEPS // 100


@pytest.mark.parametrize(
    ("schema", "text", "in_thread"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}}, '{"a": "b"}', False),
        ({"$ref": "#/$defs/a", "$defs": {"a": {}}}, "{}", True),
        ({"items": {"pattern": "a"}}, "[]", True),
        ({"allOf": [{}] * 900}, "[1, 2, 3, 4]", True),
        ({}, f'"{"x" * LARGE}"', True),
    ],
)
def test_what_may_take_long_is_checked_in_a_thread(schema: Any, text: str, *, in_thread: bool) -> None:
    assert (estimate_check_size(schema, text) >= LARGE) is in_thread
