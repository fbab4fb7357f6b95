"""Checks of JSON values by the Python types of a project, with the validators of its models."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from aws_lambda_powertools import Logger
from pydantic import TypeAdapter, ValidationError

from baton.domain.metrics import Metric, count
from baton.domain.schemas.type_check import MAX_MESSAGE, TypeCheck, TypeProblem

logger = Logger(child=True)

MAX_PROBLEMS = 10
"""The maximum number of problems that are named for one value."""


def make_type_check(kind: Any) -> TypeCheck | None:
    """Return the check of JSON values by a type; None for a JSON Schema, which checks them itself."""
    if kind is None or isinstance(kind, Mapping):
        return None
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    return partial(find_problems, lambda value: adapter.validate_json(json.dumps(value)))


def find_problems(validate: Callable[[Any], Any], value: Any) -> tuple[TypeProblem, ...]:
    """Return the problems for which ``validate`` refuses a value with pydantic's errors; empty if it accepts it.

    A validator that fails with another error refuses the value too, which would otherwise be unchecked.
    """
    try:
        validate(value)
    except ValidationError as error:
        return problems_of(error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the code of a project may raise anything
        count(Metric.TOOL_FAILURES)
        frame = traceback.extract_tb(error.__traceback__)[-1]
        logger.warning(
            "a validator has failed", error=type(error).__name__, place=f"{Path(frame.filename).name}:{frame.lineno}"
        )
        return (TypeProblem((), f"a validator has failed with {type(error).__name__}", "validator_failed"),)
    return ()


def problems_of(error: ValidationError) -> tuple[TypeProblem, ...]:
    """Return the first problems that an error of pydantic names."""
    return tuple(
        TypeProblem(problem["loc"], problem["msg"].removeprefix("Value error, ")[:MAX_MESSAGE], problem["type"])
        for problem in error.errors(include_url=False, include_context=False, include_input=False)[:MAX_PROBLEMS]
    )
