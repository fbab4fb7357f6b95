"""The benchmark of a closing's cost runs, and a closing costs no more than the documents say."""

from __future__ import annotations

import pytest

from benchmarks import month_cost
from benchmarks.closing_cost import measure

pytestmark = pytest.mark.nightly


async def test_a_closing_costs_at_most_nine_write_units_and_two_calls_of_a_model() -> None:
    at_once, stepwise = await measure(3)
    assert (at_once.invocations, stepwise.invocations) == (1, 6)
    for cost in (at_once, stepwise):
        assert sum(request.write_units for request in cost.requests) <= 9, cost.requests
        assert cost.model_calls <= 2
        assert (cost.s3_reads, cost.s3_writes) == (month_cost.READS_A_CLOSING, month_cost.WRITES_A_CLOSING)
    assert stepwise.index_bytes <= month_cost.CONVERSATION_BYTES
