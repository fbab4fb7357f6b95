"""A short way to end a session."""

from __future__ import annotations

from baton.domain.episode import EndReason
from tests.harness.harness import Harness


async def close(harness: Harness, reason: EndReason = EndReason.USER_CLOSED) -> str | None:
    """Close the harness's thread; the id of the episode that this ends."""
    return (await harness.closer.close(harness.ada, harness.thread_id, reason, patience=5)).episode_id
