"""The benchmark of a turn's cost runs, and a plain turn costs no more than the documents say."""

from __future__ import annotations

from benchmarks.cost.measured import read_measured
from benchmarks.turn_cost import measure

MOST_USD = 0.45
"""The price of a hundred thousand plain turns in DynamoDB and S3."""
RATES = 1
"""Write units that the rates of users take, which the recorded turns include."""


async def test_a_plain_turn_costs_at_most_six_write_units_and_two_reads_with_its_record() -> None:
    results = await measure([40])  # by then the history is as long as it gets
    for cost in (*results.websocket, results.sse[-1]):
        assert cost.write_units <= 6, cost.requests
        assert cost.read_requests <= 2, cost.requests
        assert cost.read_units <= 6, cost.requests
        assert cost.s3_requests == 0
        assert cost.storage_usd <= MOST_USD, cost.requests
    recorded = read_measured()
    assert [cost.write_units + RATES for cost in results.websocket] == [recorded.later_turn.write_units]
    beginning = results.sse[0]
    assert beginning.write_units + RATES == recorded.first_turn_over_sse.write_units
    assert beginning.write_units - beginning.beginning_units <= 8, beginning.requests
