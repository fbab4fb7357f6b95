"""One conversation on the real engine, over ports in memory and in virtual time."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from baton.composition.app import build
from baton.domain.errors import BatonError
from baton.domain.tenants.identity import Scope, ThreadRef, thread_ref
from baton.domain.threads.events import Event
from baton.domain.threads.interrupt import DecisionStatus, InterruptDecision
from baton.domain.threads.queued import RecordDelivery
from baton.domain.threads.thread import EndReason
from baton.memory.episodes.session_closing import ClosingStep
from baton.memory.light_model import JunkAnswer
from baton.threads.requests.parsing import decision_request, message_request
from baton_testing.conversation_ports import ConversationPorts
from baton_testing.conversation_test import User
from baton_testing.models.own_time import OwnTime
from baton_testing.observation import Observation
from baton_testing.watch import Watch

TURN_SECONDS = 840.0
"""The virtual time of a turn: the most that a worker has."""
SHORTEST_PAUSE = timedelta(minutes=1)
"""The time between two sweeps, as the schedule of a deployment has it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision about calls that wait."""

    agrees: bool
    tool: str | None = None
    """The tool it is about; None: all of them."""
    comment: str | None = None


class DrivenConversation:
    """A user in front of the project's agents. Each method is a step, and returns its observation."""

    def __init__(
        self, ports: ConversationPorts, user: User, own_time: OwnTime, *, name: str, agent: str | None, folder: Path
    ) -> None:
        """``folder`` is the one in which paths of files begin. ``name`` decides the conversation's id."""
        self._ports = ports
        self._app = build(ports)
        self.scope = Scope(user.tenant, user.id, frozenset(user.permissions))
        self.thread_id = thread_ref(self.scope, name).id
        self._name = name
        self._agent = agent
        self._folder = folder
        self._time_zone = user.time_zone
        self._messages = 0
        self._watch = Watch(ports, self.scope, self.thread_id, own_time)
        self._settled: set[tuple[str, int]] = set()
        self._interrupts: list[dict[str, Any]] = []

    async def say(self, text: str, files: Sequence[str] = ()) -> Observation:
        """Send a message."""
        return await self._observe(f"say: {text}", lambda emit: self._say(text, files, emit))

    async def decide(self, decision: Decision) -> Observation:
        """Answer the calls that wait for a person."""
        title = f"{'approve' if decision.agrees else 'decline'}: {decision.tool or 'all'}"
        return await self._observe(title, lambda emit: self._decide(decision, emit))

    async def exit(self) -> Observation:
        """Leave the specialist."""

        async def leave(emit: Callable[[Event], None]) -> None:
            request = await self._app.controls.request_exit(self.scope, self.thread_id, request_id=self._next_id())
            await self._app.turns.run(self.scope, request, emit, seconds=TURN_SECONDS)

        return await self._observe("exit", leave)

    async def go_on(self) -> Observation:
        """Continue the unfinished workflow that was changed last."""

        async def resume(emit: Callable[[Event], None]) -> None:
            unfinished = await self._ports.workflows.unfinished(self.scope)
            if not unfinished:
                self._watch.problem("There is no unfinished workflow that could be continued.")
                return
            thread = ThreadRef(self.thread_id, may_create=True)
            request = await self._app.controls.request_continue(self.scope, thread, unfinished[0].workflow.id)
            await self._app.turns.run(self.scope, request, emit, seconds=TURN_SECONDS)

        return await self._observe("continue", resume)

    async def close(self) -> Observation:
        """Close the conversation."""

        async def end(emit: Callable[[Event], None]) -> None:
            reason = EndReason.USER_CLOSED
            await self._app.closer.close(self.scope, self.thread_id, reason, patience=TURN_SECONDS)

        return await self._observe("close", end)

    async def wait(self, duration: timedelta) -> Observation:
        """Let time pass. Idle conversations are closed, and due work is done at its time."""

        async def pass_by(emit: Callable[[Event], None]) -> None:
            end = self._ports.clock.now() + duration
            while (now := self._ports.clock.now()) < end:
                due = min((moment for moment in self._due() if moment > now), default=end)
                pause = min(max(due - now, SHORTEST_PAUSE), end - now)
                await asyncio.sleep(pause.total_seconds())
                await self._app.sweeper.sweep(seconds=TURN_SECONDS)
                await self._settle()

        return await self._observe(f"wait: {duration}", pass_by)

    def _due(self) -> list[datetime]:
        return [row.check_at for row in self._ports.store.rows.values() if row.check_at is not None]

    async def _say(self, text: str, files: Sequence[str], emit: Callable[[Event], None]) -> None:
        content: Any = text
        if files:
            content = [{"type": "text", "text": text}, *[await self._upload(name) for name in files]]
        request = message_request(
            self.scope,
            thread_id=self._name,
            message_id=self._next_id(),
            content=content,
            agent_id=self._agent,
            time_zone=self._time_zone,
        )
        await self._app.turns.run(self.scope, request, emit, seconds=TURN_SECONDS)

    async def _upload(self, name: str) -> dict[str, Any]:
        body = await asyncio.to_thread((self._folder / name).read_bytes)
        kind = mimetypes.guess_type(name)[0] or "text/plain"
        own_name = Path(name).name
        file_id = await self._ports.files.keep(self.scope, self.thread_id, own_name, kind, body)
        source = {"type": "file", "value": file_id, "provider": "baton", "mimeType": kind}
        part = "image" if kind.startswith("image/") else "document"
        return {"type": part, "source": source, "metadata": {"name": own_name}}

    async def _decide(self, decision: Decision, emit: Callable[[Event], None]) -> None:
        chosen = [
            interrupt
            for interrupt in self._interrupts
            if decision.tool in (None, interrupt.get("metadata", {}).get("toolName"))
        ]
        if not chosen:
            about = decision.tool or "anything"
            self._watch.problem(f"No call waits for a decision about {about}.")
            return
        payload: dict[str, Any] = {"approved": decision.agrees}
        if decision.comment is not None:
            payload["comment"] = decision.comment
        status = DecisionStatus.RESOLVED
        answers = [InterruptDecision(interrupt["id"], status, payload, self.scope.user_id) for interrupt in chosen]
        request = decision_request(self.thread_id, answers)
        self._interrupts = [interrupt for interrupt in self._interrupts if interrupt not in chosen]
        await self._app.turns.run(self.scope, request, emit, seconds=TURN_SECONDS)

    async def _observe(self, title: str, act: Callable[[Callable[[Event], None]], Awaitable[None]]) -> Observation:
        self._watch.begin()
        error: str | None = None
        events: list[Event] = []
        try:
            await act(events.append)
        except BatonError as refusal:
            error = refusal.code
        await self._settle()
        for event in events:
            if event.type == "RUN_FINISHED":
                outcome = event.body.get("outcome") or {}
                self._interrupts = list(outcome.get("interrupts") or self._interrupts)
        return await self._watch.end(title, events, error)

    async def _settle(self) -> None:
        """Carry out the work of workers and pipelines after a turn."""
        queue = self._ports.queue
        while queue.sent:
            _, message = queue.sent.pop(0)
            delivery = RecordDelivery(message.request_id, 1)
            body = message.model_dump_json(by_alias=True)
            await self._app.queued_turns.run(body, "", delivery, seconds=TURN_SECONDS)
        for (episode_id, attempt), ref in list(self._ports.closings.started.items()):
            if (episode_id, attempt) not in self._settled:
                self._settled.add((episode_id, attempt))
                await self._make_episode(ref.thread_id, ref.number)

    async def _make_episode(self, thread_id: str, number: int) -> None:
        for step in ClosingStep:
            try:
                await self._app.memory.session_closing.run(step, self.scope, thread_id, number)
            except (BatonError, JunkAnswer):
                if step in (ClosingStep.STORE, ClosingStep.COMPLETE):
                    raise

    def _next_id(self) -> str:
        self._messages += 1
        return f"m{self._messages}"
