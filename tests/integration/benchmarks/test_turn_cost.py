"""The benchmark of a turn's cost runs, and a plain turn costs no more than the documents say."""

from __future__ import annotations

from benchmarks.turn_cost import measure


async def test_a_plain_turn_costs_at_most_eight_write_units_and_four_reads_with_its_record() -> None:
    results = await measure([2])
    for cost in (*results.websocket, results.sse[-1]):
        assert cost.write_units <= 8, cost.requests
        assert cost.read_requests <= 4, cost.requests
        assert cost.s3_requests == 0
    beginning = results.sse[0]
    assert beginning.write_units - beginning.beginning_units <= 8, beginning.requests
