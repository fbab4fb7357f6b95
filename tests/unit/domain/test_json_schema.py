"""Values of models that are odd, against any schema."""

from __future__ import annotations

import pytest

from baton.domain.json_schema import foreign_schema_errors, problems


@pytest.mark.parametrize("value", [10**400, float("inf"), float("-inf"), float("nan"), -(10**400) + 1])
@pytest.mark.parametrize("step", [0.1, 7, 1e-300])
def test_a_number_that_is_out_of_all_proportion_is_a_multiple_of_nothing_or_fits(value: float, step: float) -> None:
    schema = {"type": "object", "properties": {"euros": {"multipleOf": step}}}
    for found in (problems(schema, {"euros": value}), foreign_schema_errors(schema, {"euros": value})):
        assert len(found) <= 1
