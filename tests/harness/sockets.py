"""A harness that is talked to over WebSocket: frames in, what waits in the queue carried out, events out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from baton.domain.tenants.identity import Scope
from baton.domain.threads.queued import RecordDelivery
from baton.entry.actions import Caller
from tests.harness.harness import Harness

TAB = "tab"
TOKEN_LIFE = timedelta(days=60)
"""Longer than workflows can be taken up again."""


@dataclass
class Socketed:
    """A harness's WebSocket side and its worker; ``ada`` sends by the connection ``tab``."""

    harness: Harness
    _requests: int = 0
    _carried_out: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._turns, self._actions = self.harness.app.queued_turns, self.harness.app.actions

    async def send(self, action: str, *, scope: Scope | None = None, tab: str = TAB, **fields: Any) -> None:
        """Send one frame about the harness's thread."""
        self._requests += 1
        now = self.harness.clock.now()
        caller = Caller(scope or self.harness.ada, tab, f"r-{self._requests}", now + TOKEN_LIFE, now)
        frame = {"action": action, "threadId": self.harness.thread_id, **fields}
        await self._actions.handle(caller, json.dumps(frame))

    async def run_queue(self) -> None:
        """Carry out the queued records that were not carried out yet, in order."""
        for _, queued in list(self.harness.queue.sent):
            if queued.request_id not in self._carried_out:
                self._carried_out.add(queued.request_id)
                await self._turns.run(
                    queued.model_dump_json(by_alias=True), "", RecordDelivery(queued.request_id, 1), seconds=20
                )

    async def give_up(self) -> None:
        """Have the consumer of dead letters end what waits in the queue, as if it had been tried too often."""
        for _, queued in list(self.harness.queue.sent):
            if queued.request_id not in self._carried_out:
                self._carried_out.add(queued.request_id)
                await self._turns.give_up(queued.model_dump_json(by_alias=True))

    def take_events(self, tab: str = TAB) -> list[dict[str, Any]]:
        """Return the events received since the last call."""
        events = self.harness.connections.events(tab)
        self.harness.connections.frames[tab].clear()
        return events

    async def expect_refusal(self, action: str, *, tab: str = TAB, **fields: Any) -> dict[str, Any]:
        """Send a frame that is refused at once with nothing queued; return the refusal."""
        waiting = len(self.harness.queue.sent)
        await self.send(action, tab=tab, **fields)
        assert len(self.harness.queue.sent) == waiting
        [refusal] = self.take_events(tab)
        assert refusal["type"] == "RUN_ERROR"
        assert "seq" not in refusal["metadata"]
        return refusal
