"""One conversation on the real engine, over ports in memory and in virtual time."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from baton.composition.app import build
from baton.domain.desks.desk_session import DeskSession, Person
from baton.domain.errors import BatonError, NotAtDesk
from baton.domain.runs.interrupt import DecisionStatus, InterruptDecision
from baton.domain.tenants.identity import Scope, ThreadRef, resolve_thread_ref
from baton.domain.threads.desk_requests import (
    make_note_request,
    make_reply_request,
    make_return_request,
    make_take_request,
    make_transfer_request,
)
from baton.domain.threads.events import Event
from baton.domain.threads.thread import EndReason, Thread
from baton.domain.threads.turn_requests import ActionRequest
from baton.memory.episodes.session_closing import ClosingStep
from baton.memory.light_model import JunkAnswer
from baton.threads.requests.parsing import make_decision_request, parse_message_request
from baton.threads.schedules.incoming_event import IncomingEvent
from baton_testing.actions import Action, EventStep, Meanwhile, PersonStep
from baton_testing.conversation_ports import ConversationPorts
from baton_testing.conversation_test import User
from baton_testing.models.own_time import OwnTime
from baton_testing.observation import Observation
from baton_testing.user_page import TURN_SECONDS, UserPage
from baton_testing.watch import Watch

SENDER = "host"
"""The id of the system that sends events."""
SHORTEST_PAUSE = timedelta(minutes=1)
"""The time between two sweeps, as in the schedule of a deployment."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision about waiting calls."""

    agrees: bool
    tool: str | None = None
    """The tool whose calls it is about; None for all calls."""
    comment: str | None = None


class DrivenConversation:
    """A user's conversation with the project's agents. Each action is a step, and returns its observation."""

    def __init__(
        self, ports: ConversationPorts, user: User, own_time: OwnTime, *, name: str, agent: str | None, folder: Path
    ) -> None:
        """``folder`` is the base of the paths of files. The conversation's id is derived from ``name``."""
        self._ports = ports
        self._app = build(ports)
        self.scope = Scope(user.tenant, user.id, frozenset(user.permissions))
        self._agent = agent
        self._folder = folder
        self._time_zone = user.time_zone
        self._watch = Watch(ports, self.scope, own_time)
        self._settled: set[tuple[str, int]] = set()
        self._names = (name if number == 1 else f"{name}-{number}" for number in count(1))
        self._open_page()

    def begin_another(self) -> DrivenConversation:
        """Return another conversation of the same user over the same stores. Both can be continued."""
        other = copy(self)
        other._open_page()
        return other

    def _open_page(self) -> None:
        """Open a page with a conversation of the next name."""
        self._name = next(self._names)
        self.thread_id = resolve_thread_ref(self.scope, self._name).id
        self._messages = 0
        self._interrupts: list[dict[str, Any]] = []
        self._page = UserPage(self._ports, self._app, self.scope, self._name, self.thread_id)
        self._arrived: list[Event] = []
        """Events of runs that no step waits for, such as the return from a desk at which nobody answers."""

    async def take(self, action: Action) -> Observation:
        """Take one step of a test, or of a case of an evaluation."""
        if action.say is not None:
            return await self.say(action.say, action.files, action.meanwhile)
        if action.person is not None:
            return await self.act_as_person(action.person)
        if action.event is not None:
            return await self.send_event(action.event)
        if action.desk:
            return await self.ask_desk(action.desk if isinstance(action.desk, str) else None)
        if action.wait is not None:
            return await self.wait(action.wait)
        if action.exit:
            return await self.exit()
        if action.continue_:
            return await self.go_on()
        if action.close:
            return await self.close()
        if action.another:
            return await self.go_to_another()
        agrees = action.approve is not None
        about = action.approve if agrees else action.decline
        decision = Decision(agrees, about if isinstance(about, str) else None, action.comment)
        return await self.decide(decision, action.meanwhile)

    async def say(self, text: str, files: Sequence[str] = (), meanwhile: Sequence[Meanwhile] = ()) -> Observation:
        """Send a message with ``files``, and the messages ``meanwhile`` while the agent works."""
        return await self._observe(f"say: {text}", lambda emit: self._say(text, files, emit), meanwhile)

    async def decide(self, decision: Decision, meanwhile: Sequence[Meanwhile] = ()) -> Observation:
        """Answer the calls that wait for a person."""
        title = f"{'approve' if decision.agrees else 'decline'}: {decision.tool or 'all'}"
        return await self._observe(title, lambda emit: self._decide(decision, emit), meanwhile)

    async def exit(self) -> Observation:
        """Leave the specialist."""

        async def leave(emit: Callable[[Event], None]) -> None:
            request = await self._app.controls.request_exit(self.scope, self.thread_id, request_id=self._make_id())
            await self._app.turns.run(self.scope, request, emit, seconds=TURN_SECONDS)

        return await self._observe("exit", leave)

    async def go_on(self) -> Observation:
        """Continue the unfinished workflow that was changed last."""

        async def resume(emit: Callable[[Event], None]) -> None:
            unfinished = await self._ports.workflows.list_unfinished(self.scope)
            if not unfinished:
                self._watch.add_problem("There is no unfinished workflow that could be continued.")
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

    async def go_to_another(self) -> Observation:
        """Leave this conversation as it is, and take the steps from now on in another one of the same user."""

        async def leave(emit: Callable[[Event], None]) -> None:
            self._open_page()

        return await self._observe("another", leave)

    async def ask_desk(self, desk_id: str | None = None) -> Observation:
        """Ask for the people of a desk, by default of the first desk."""

        async def ask(emit: Callable[[Event], None]) -> None:
            thread = ThreadRef(self.thread_id, may_create=True)
            request = await self._app.controls.request_desk(self.scope, thread, desk_id)
            await self._app.turns.run(self.scope, request, emit, seconds=TURN_SECONDS)

        return await self._observe("desk", ask)

    async def act_as_person(self, step: PersonStep) -> Observation:
        """Carry out the actions of a person at the desk. Permissions are not checked."""
        person = Person(step.id, step.name)

        async def act(emit: Callable[[Event], None]) -> None:
            async def carry_out(make: Callable[[Thread, DeskSession], ActionRequest]) -> None:
                thread = await self._ports.store.get_thread(self.scope, self.thread_id)
                if thread.conversation.desk is None:
                    raise NotAtDesk
                request = make(thread, thread.conversation.desk)
                await self._app.turns.run(self.scope, request, emit, seconds=TURN_SECONDS)

            if step.takes:
                await carry_out(lambda thread, session: make_take_request(thread, session, person))
            if (says := step.says) is not None:
                await carry_out(lambda thread, _: make_reply_request(thread, person, self._make_id(), says))
            if (notes := step.notes) is not None:
                await carry_out(lambda thread, _: make_note_request(thread, person, self._make_id(), notes))
            if (target := step.transfers) is not None:
                await carry_out(lambda thread, session: make_transfer_request(thread, session, person, target, ""))
            if step.returns:
                note = step.returns if isinstance(step.returns, str) else ""
                await carry_out(lambda thread, session: make_return_request(thread, session, person, note))

        return await self._observe(f"{step.name}: {step.says or 'acts'}", act)

    async def send_event(self, event: EventStep) -> Observation:
        """Send an event, as a system with ``event:send`` or a hook does. The run has no permissions of the user."""
        sender, owner = Scope(self.scope.tenant_id, SENDER), Scope(self.scope.tenant_id, self.scope.user_id)

        async def send(emit: Callable[[Event], None]) -> None:
            incoming = IncomingEvent.parse(event.id or self._make_id(), event.type, event.data)
            await self._app.self_started.event_starts.begin(sender, owner, self._name, incoming, agent_id=self._agent)

        return await self._observe(f"event: {event.type}", send)

    async def wait(self, duration: timedelta) -> Observation:
        """Let time pass. Idle conversations are closed, and reminders and other due work begin at their times."""

        async def pass_by(emit: Callable[[Event], None]) -> None:
            end = self._ports.clock.now() + duration
            while (now := self._ports.clock.now()) < end:
                due = min((moment for moment in await self._list_due_times(end) if moment > now), default=end)
                pause = min(max(due - now, SHORTEST_PAUSE), end - now)
                await asyncio.sleep(pause.total_seconds())
                await self._app.self_started.due_starts.sweep(seconds=TURN_SECONDS)
                await self._app.sweeper.sweep(seconds=TURN_SECONDS)
                await self._settle()

        return await self._observe(f"wait: {duration}", pass_by)

    async def _list_due_times(self, end: datetime) -> list[datetime]:
        checks = [row.check_at for row in self._ports.store.rows.values() if row.check_at is not None]
        return checks + [entry.at async for page in self._ports.due_items.before(end) for entry in page]

    async def _say(self, text: str, files: Sequence[str], emit: Callable[[Event], None]) -> None:
        content: Any = text
        if files:
            content = [{"type": "text", "text": text}, *[await self._upload(name) for name in files]]
        request = parse_message_request(
            self.scope,
            thread_id=self._name,
            message_id=self._make_id(),
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
            self._watch.add_problem(f"No call waits for a decision about {about}.")
            return
        payload: dict[str, Any] = {"approved": decision.agrees}
        if decision.comment is not None:
            payload["comment"] = decision.comment
        status = DecisionStatus.RESOLVED
        answers = [InterruptDecision(interrupt["id"], status, payload, self.scope.user_id) for interrupt in chosen]
        request = make_decision_request(self.thread_id, answers)
        self._interrupts = [interrupt for interrupt in self._interrupts if interrupt not in chosen]
        await self._app.turns.run(self.scope, request, emit, seconds=TURN_SECONDS)

    async def _observe(
        self, title: str, act: Callable[[Callable[[Event], None]], Awaitable[None]], meanwhile: Sequence[Meanwhile] = ()
    ) -> Observation:
        self._watch.begin()
        error: str | None = None
        events: list[Event] = []
        try:
            with self._page.writing(meanwhile, self._make_id):
                await act(events.append)
        except BatonError as refusal:
            error = refusal.code
        for message in self._page.unsent:
            self._watch.add_problem(
                f"{message.during or 'A model'} was not called, so this was not sent: {message.say}"
            )
        error = error or self._page.refusal
        await self._settle()
        events, self._arrived = [*events, *self._arrived], []
        for event in events:
            if event.type == "RUN_FINISHED":
                outcome = event.body.get("outcome") or {}
                self._interrupts = list(outcome.get("interrupts") or self._interrupts)
        return await self._watch.end(title, self.thread_id, events, error)

    async def _settle(self) -> None:
        """Carry out the work of workers and pipelines after a turn."""
        self._arrived += await self._page.run_queued_turns()
        for (episode_id, attempt), ref in list(self._ports.closings.started.items()):
            if (episode_id, attempt) not in self._settled:
                self._settled.add((episode_id, attempt))
                await self._make_episode(ref.thread_id, ref.number)

    async def _make_episode(self, thread_id: str, number: int) -> None:
        for step in ClosingStep:
            try:
                await self._app.memory.session_closing.run(step, self.scope, thread_id, number)
            except (BatonError, JunkAnswer):
                # As in the state machine, an episode may be completed without what the other steps add to it.
                if step in (ClosingStep.STORE, ClosingStep.COMPLETE):
                    raise

    def _make_id(self) -> str:
        self._messages += 1
        return f"m{self._messages}"
