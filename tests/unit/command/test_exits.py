"""The lines in which the command says what went wrong."""

from __future__ import annotations

from baton_client.command.exits import describe_problem
from baton_client.errors import BadRequestError, FieldProblem


def describe(detail: str) -> str:
    problems = [FieldProblem("model.temprature", "there is no such field"), FieldProblem("name", "is too long")]
    return describe_problem(BadRequestError(detail, code="invalid_agent", problems=problems))


def test_fields_are_named_once() -> None:
    assert describe("The agent is not valid.") == (
        "invalid_agent: The agent is not valid. (model.temprature: there is no such field; name: is too long)"
    )
    assert describe("model.temprature: there is no such field; name: is too long.") == (
        "invalid_agent: model.temprature: there is no such field; name: is too long."
    )
