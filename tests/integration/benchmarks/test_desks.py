"""The benchmark of desks runs, and messages there cost no more than the documents say."""

from __future__ import annotations

import pytest

from benchmarks.cost.measured import read_measured
from benchmarks.desks import MESSAGE, REPLY, measure_units

pytestmark = pytest.mark.nightly


async def test_a_message_at_a_desk_costs_half_a_plain_turn() -> None:
    units = await measure_units()
    recorded = {act: cost.write_units for act, cost in read_measured().desk.items()}
    assert recorded.items() <= units.items(), "run `python -m benchmarks.cost.record`"
    assert units[MESSAGE] <= 3
    assert units[REPLY] <= 7, "two of them are the audit's"
