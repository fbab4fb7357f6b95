"""The benchmark of a closing's cost runs, and a closing costs no more than the documents say."""

from __future__ import annotations

import pytest

from benchmarks.closing_cost import measure
from benchmarks.cost.measured import read_measured

pytestmark = pytest.mark.nightly


async def test_a_closing_costs_at_most_what_is_recorded_and_two_calls_of_a_model() -> None:
    at_once, stepwise = await measure(3)
    recorded = read_measured()
    assert (at_once.invocations, stepwise.invocations) == (1, 6)
    for cost in (at_once, stepwise):
        assert sum(request.write_units for request in cost.requests) <= recorded.closing.write_units, cost.requests
        assert cost.model_calls <= 2
        assert (cost.s3_reads, cost.s3_writes) == (recorded.closing_s3_reads, recorded.closing_s3_writes)
    assert stepwise.index_bytes <= 60_000
