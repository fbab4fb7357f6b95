"""Schemas that agents' files and clients declare, and the problems of values."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.schemas.json_schema import (
    PROBLEM_STEPS,
    check_client_schema,
    check_object_schema,
    find_argument_problem,
    find_problems,
)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"allOf": [{}] * 1_900}, "more than 1,000 subschemas"),
        ({"properties": {"a": {"pattern": "(?i)" + "[\u0100-\U0001fffe]" * 600}}}, "at most 1,000 characters"),
    ],
)
def test_a_schema_that_would_take_long_is_refused_by_its_limit(fields: dict[str, Any], reason: str) -> None:
    for check in (check_client_schema, check_object_schema):
        with pytest.raises(ValueError, match=reason):
            check({"type": "object", **fields})


def test_patterns_of_clients_are_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baton.domain.schemas.json_schema.compile_cached", lambda _: pytest.fail("compiled"))
    schema = check_client_schema({"properties": {"a": {"pattern": "(?i)" + "[\u0100-\U0001fffe]" * 90}}})
    assert schema["type"] == "object"


def test_a_value_that_cannot_be_checked_is_a_problem_of_a_workflow_and_not_of_a_tool() -> None:
    schema = {"properties": {"a": {"allOf": [{"uniqueItems": True}] * 900}}}
    value = {"a": list(range(3_000))}
    [problem] = find_problems(schema, value)
    assert problem.message == f"it takes more than {PROBLEM_STEPS:,} steps to check"
    assert find_argument_problem(schema, value) is None
