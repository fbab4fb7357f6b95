"""The benchmark of self-started runs works, and a due item costs no more than the documents say."""

from __future__ import annotations

import pytest

from benchmarks.due import measure_units
from benchmarks.due_deployment import measure_kills

pytestmark = pytest.mark.nightly

MOST_OF_AN_ITEM = 4
"""Write units of a due item and of its index entry, from its creation to its start."""


async def test_a_single_item_takes_at_most_four_write_units_a_later_slot_three_and_none_while_it_waits() -> None:
    units = await measure_units()
    of_item = {step: item for step, (_, _, item, _) in units.items()}
    assert of_item["single: creating it"] + of_item["single: starting it"] <= MOST_OF_AN_ITEM
    task = "background task"
    assert of_item[f"{task}: beginning it"] + of_item[f"{task}: its result"] <= MOST_OF_AN_ITEM
    assert of_item["repeating: creating it"] <= 2
    assert of_item["repeating: starting it"] <= 3, "its place moves to the next slot"
    _, writes, _, reads = units["a sweep that finds nothing due"]
    assert (writes, reads <= 4) == (0, True)


async def test_no_item_is_lost_or_begins_two_runs_while_processes_die() -> None:
    figures = await measure_kills(items=40, kills=8)
    assert (figures.lost, figures.twice, figures.strange) == (0, 0, 0)
    assert figures.happened["kills"] >= 8
