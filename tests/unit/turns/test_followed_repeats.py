"""Messages that are repeated over a WebSocket while another worker answers them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from baton.domain.errors import ThreadBusy
from baton.domain.threads.events import Event
from baton.threads.outbox.replay import Replay, Replays
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness


async def test_events_that_are_logged_while_a_connection_is_attached_are_sent_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness, gate = Harness(), asyncio.Event()
    harness.model.script(Answer(("Hello", " there."), gate=gate, gate_at=1))
    running = asyncio.ensure_future(harness.say())
    await harness.wait_for_requests()
    await asyncio.sleep(0.05)

    async def replay_one(_replays: Replays, _scope: object, _thread: object, after: int) -> Replay:
        """Find one more event at each read."""
        event: dict[str, Any] = {"type": "CUSTOM", "name": "piece", "value": after, "metadata": {"seq": after + 1}}
        return Replay((Event(event, after + 1),), after + 1, None)

    with monkeypatch.context() as patch:
        patch.setattr(Replays, "replay_after", replay_one)
        with pytest.raises(ThreadBusy):
            await harness.turns.run(
                harness.ada,
                harness.request(),
                lambda event: None,
                seconds=5,
                patience=0.1,
                subscriber=harness.subscriber("tab"),
            )
    assert [event["metadata"]["seq"] for event in harness.connections.events("tab")] == [1, 2]
    gate.set()
    await running
