"""kill -9 of the workers at every stage of a turn; see ``killed_workers``."""

from __future__ import annotations

from itertools import product

import pytest

from tests.e2e.users import User
from tests.faults.processes.gated_model import GatedModel
from tests.faults.processes.killed_workers import STAGES, WAYS, Conversation
from tests.faults.processes.viewer import check_thread


@pytest.mark.parametrize(
    ("stage", "way"),
    [
        pytest.param(stage, way, marks=() if STAGES.index(stage) == WAYS.index(way) else pytest.mark.nightly)
        for stage, way in product(STAGES, WAYS)
    ],
)
async def test_a_turn_whose_worker_is_killed_is_answered_once(
    stage: str, way: str, killed_workers: dict[tuple[str, str], Conversation], gated_model: GatedModel, ada: User
) -> None:
    conversation = killed_workers[stage, way]
    assert conversation.recovery is not None
    await conversation.recovery
    await check_thread(ada, conversation.viewer.thread_id, conversation.questions, conversation.screen)
    if stage in ("before commit", "after commit"):
        times = gated_model.count_requests(conversation.questions["m-1"])
        assert times == 1, "an answer that only had to be committed is not asked for again"
