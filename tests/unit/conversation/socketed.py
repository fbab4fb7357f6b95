"""A stage that is talked to over WebSocket: frames in, what waits in the queue carried out, events out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from baton.conversation.actions import Actions, ActionServices, Caller
from baton.conversation.approvals import Approvals
from baton.conversation.queued_turns import QueuedTurns
from baton.domain.identity import Scope
from baton.domain.queued import RecordDelivery
from tests.fakes.agent_catalog import FakeAgentCatalog
from tests.unit.conversation.stage import Stage

TAB = "tab"
TOKEN_LIFE = timedelta(days=60)
"""Longer than workflows can be taken up again."""


@dataclass
class Socketed:
    """A stage's WebSocket side and its worker; ``ada`` sends by the connection ``tab``."""

    stage: Stage
    _requests: int = 0
    _carried_out: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        stage = self.stage
        self._turns = QueuedTurns(stage.turns, stage.closer, stage.connections, None, stage.clock)
        self._actions = Actions(
            ActionServices(
                store=stage.store,
                queue=stage.queue,
                live=stage.live,
                connections=stage.connections,
                controls=stage.controls,
                approvals=Approvals(stage.store, stage.audit),
                replays=stage.replays,
                catalog=FakeAgentCatalog(*stage.agents.all()),
                audit=stage.audit,
                clock=stage.clock,
            )
        )

    async def send(self, action: str, *, scope: Scope | None = None, tab: str = TAB, **fields: Any) -> None:
        """Send one frame about the stage's thread."""
        self._requests += 1
        now = self.stage.clock.now()
        caller = Caller(scope or self.stage.ada, tab, f"r-{self._requests}", now + TOKEN_LIFE, now)
        frame = {"action": action, "threadId": self.stage.thread_id, **fields}
        await self._actions.handle(caller, json.dumps(frame))

    async def work(self) -> None:
        """Carry out what waits in the queue and was not carried out yet, in order."""
        for _, queued in list(self.stage.queue.sent):
            if queued.request_id not in self._carried_out:
                self._carried_out.add(queued.request_id)
                await self._turns.run(
                    queued.model_dump_json(by_alias=True), "", RecordDelivery(queued.request_id, 1), seconds=20
                )

    async def give_up(self) -> None:
        """Have the consumer of dead letters end what waits in the queue, as if it had been tried too often."""
        for _, queued in list(self.stage.queue.sent):
            if queued.request_id not in self._carried_out:
                self._carried_out.add(queued.request_id)
                await self._turns.give_up(queued.model_dump_json(by_alias=True))

    def received(self, tab: str = TAB) -> list[dict[str, Any]]:
        """The events that have come since this was last asked for."""
        events = self.stage.connections.events(tab)
        self.stage.connections.frames[tab].clear()
        return events

    async def refused(self, action: str, *, tab: str = TAB, **fields: Any) -> dict[str, Any]:
        """Send a frame that is refused at once, with nothing queued; the refusal."""
        waiting = len(self.stage.queue.sent)
        await self.send(action, tab=tab, **fields)
        assert len(self.stage.queue.sent) == waiting
        [refusal] = self.received(tab)
        assert refusal["type"] == "RUN_ERROR"
        assert "seq" not in refusal["metadata"]
        return refusal
