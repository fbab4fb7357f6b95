"""Checks of JSON values by Python types of a project, including the validators of its models."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from aws_lambda_powertools import Logger
from pydantic import TypeAdapter, ValidationError

from baton.domain.definition import get_message
from baton.domain.metrics import Metric, count
from baton.domain.schemas.type_check import MAX_MESSAGE, TypeCheck, TypeProblem

logger = Logger(child=True)

MAX_PROBLEMS = 10
"""The maximum number of problems that are named for one value."""


def make_type_check(kind: Any) -> TypeCheck | None:
    """Return a check of JSON values by the type ``kind``; None without a type, or for a JSON Schema.

    Raises ``pydantic.PydanticUserError`` for a type that pydantic does not know.
    """
    if kind is None or isinstance(kind, Mapping):
        return None
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    return partial(find_problems, lambda value: adapter.validate_json(json.dumps(value)))


def find_problems(validate: Callable[[Any], Any], value: Any) -> tuple[TypeProblem, ...]:
    """Return the problems of a value that ``validate`` raises as pydantic's error; empty if it accepts the value.

    A validator that raises another error also refuses the value, because the value was not checked.
    """
    try:
        validate(value)
    except ValidationError as error:
        return list_problems(error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the code of a project may raise anything
        count(Metric.TOOL_FAILURES)
        frame = traceback.extract_tb(error.__traceback__)[-1]
        logger.warning(
            "a validator has failed", error=type(error).__name__, place=f"{Path(frame.filename).name}:{frame.lineno}"
        )
        return (TypeProblem((), f"a validator has failed with {type(error).__name__}", "validator_failed"),)
    return ()


def list_problems(error: ValidationError) -> tuple[TypeProblem, ...]:
    """Return the first ``MAX_PROBLEMS`` problems in an error of pydantic. Their messages are cut at ``MAX_MESSAGE``."""
    return tuple(
        TypeProblem(problem["loc"], get_message(problem)[:MAX_MESSAGE], problem["type"])
        for problem in error.errors(include_url=False, include_context=False, include_input=False)[:MAX_PROBLEMS]
    )
