"""A short way to end a session, and to run the pipeline that follows."""

from __future__ import annotations

import contextlib

from baton.domain.errors import BatonError
from baton.domain.memory.episode import Episode
from baton.domain.threads.thread import EndReason
from baton.memory.episodes.session_closing import ClosingStep
from baton.memory.light_model import JunkAnswer
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness


async def close(harness: Harness, reason: EndReason = EndReason.USER_CLOSED) -> str | None:
    """Close the harness's thread; return the id of its episode."""
    return (await harness.closer.close(harness.ada, harness.thread_id, reason, patience=5)).episode_id


async def make_episode(harness: Harness, number: int = 1, *, failing: bool = False) -> Episode:
    """Run the steps as the state machine does, once each. ``failing``: steps but the first and the last may fail."""
    pipeline = harness.app.memory.session_closing
    otherwise, harness.model.otherwise = harness.model.otherwise, Answer(('{"facts": [], "pairs": []}',))
    for step in ClosingStep:
        may_fail = failing and step not in (ClosingStep.STORE, ClosingStep.COMPLETE)
        with contextlib.suppress(*((BatonError, JunkAnswer) if may_fail else ())):
            await pipeline.run(step, harness.ada, harness.thread_id, number)
    harness.model.otherwise = otherwise
    episode = await harness.episodes.get(harness.ada, harness.thread_id, number)
    assert episode is not None
    return episode
