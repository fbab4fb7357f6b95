"""A capture over every store: killed at any write, run twice and in the wrong order, it proposes one procedure."""

from __future__ import annotations

import pytest

from baton.domain.memory.capture import CaptureStep
from tests.contracts.stores import Stores
from tests.faults.capture.dying import Dying, build_dying, calls_of_a_capture, carry_out, check, harness_with_task

WRITES = ("save", "put", "take_allowance", "procedure_pending")


@pytest.mark.parametrize("after", [False, True], ids=["in front", "after"])
@pytest.mark.parametrize("name", WRITES)
async def test_a_capture_killed_at_a_write_proposes_one_procedure(stores: Stores, name: str, after: bool) -> None:
    at = (await calls_of_a_capture()).index(name) + 1
    harness = await harness_with_task(stores)
    await carry_out(build_dying(harness, Dying(at, after)), harness)
    await check(harness, announced=None)


async def test_a_capture_run_backwards_and_again_proposes_one_procedure(stores: Stores) -> None:
    harness = await harness_with_task(stores)
    await carry_out(harness.app, harness, reversed(CaptureStep))
    await carry_out(harness.app, harness)
    await check(harness)
