"""A conversation at a desk, played at random: the user, people, models, timers, approvals, cancels and deaths.

Nothing is timed: the clock is the test's. Steps that are taken at once take turns at every wait of the event loop.
"""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from baton.composition.app import App, build
from baton.domain.agents.agent import AgentDefinition
from baton.domain.desks.desk_session import DeskStatus, Person
from baton.domain.errors import BatonError, LeaseLost, StoreUnavailable, ThreadUnavailable
from baton.domain.runs.interrupt import DecisionStatus, InterruptDecision
from baton.domain.runs.tool_call import ToolCall
from baton.domain.tenants.identity import Scope, ThreadRef
from baton.domain.threads.desk_requests import (
    make_ask_request,
    make_note_request,
    make_reply_request,
    make_return_request,
    make_take_request,
    make_transfer_request,
)
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.queued import RecordDelivery
from baton.domain.threads.run_end import OutcomeType
from baton.domain.threads.thread import Thread
from baton.ports.agents.chat_model import ModelChunk, ModelSettings, Prompt, ToolSpec
from baton.ports.documents.files import ThreadFiles
from baton.threads.requests.parsing import make_decision_request, make_exit_request
from tests.fakes.chat_model import Answer, ScriptedChatModel
from tests.faults.desks.event_order import EVENTS, find_event_problems
from tests.harness.desks import ANNA, BEN, DeskHarness, desk
from tests.harness.handoffs import transfer
from tests.harness.harness import ASSISTANT
from tests.harness.webhooks import webhook, with_webhooks

MODEL = "MODEL:"
"""The beginning of everything that a model says."""
PORTS = ("store", "handoffs", "workflows", "desk_places", "audit", "log", "live", "records", "queue")
"""The ports that a dying worker loses."""
PEOPLE = (ANNA, BEN)
RULES = {"wait_minutes": 5, "silence_minutes": 5}


class Death:
    """From some call of a port on, no other one succeeds: the worker is dead."""

    def __init__(self, at: int, *, is_done: bool) -> None:
        """``is_done``: the call itself is carried out, and only its answer is lost."""
        self._at = at
        self._is_done = is_done
        self._is_postponed = False
        self.calls = 0

    @contextmanager
    def postponed(self) -> Iterator[None]:
        """Count no calls in the block, so that the worker lives through it."""
        self._is_postponed = True
        yield
        self._is_postponed = False

    async def pass_on(self, call: Callable[[], Awaitable[Any]]) -> Any:
        if self._is_postponed:
            return await call()
        self.calls += 1
        if self.calls > self._at or (self.calls == self._at and not self._is_done):
            raise StoreUnavailable
        result = await call()
        if self.calls == self._at:
            raise StoreUnavailable
        return result


class Mortal:
    """A port of a worker that may die."""

    def __init__(self, port: Any, death: Death) -> None:
        self._port, self._death = port, death

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._port, name)
        if not asyncio.iscoroutinefunction(attribute):
            return attribute

        async def call(*arguments: Any, **options: Any) -> Any:
            return await self._death.pass_on(lambda: attribute(*arguments, **options))

        return call


class RandomModel(ScriptedChatModel):
    """A model that talks, hands over to a desk, calls a tool that needs approval, or fails."""

    def __init__(self, choice: random.Random, is_allowed: Callable[[], str | None]) -> None:
        super().__init__()
        self._choice = choice
        self._is_allowed = is_allowed
        self.violations: list[str] = []
        self._number = 0

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        forbidden = self._is_allowed()
        if forbidden is not None:
            self.violations.append(forbidden)
        self.script(self._answer({tool.name for tool in tools}))
        async for chunk in super().stream(settings, prompts, thread_files=thread_files, tools=tools):
            yield chunk

    def _answer(self, tools: set[str]) -> Answer:
        self._number += 1
        lot = self._choice.random()
        if lot < 0.25 and "transfer_to_support" in tools:
            return transfer("support")
        if lot < 0.4 and "delete" in tools:
            return Answer.calling(ToolCall(f"c{self._number}", "delete", json.dumps({})))
        return Answer((f"{MODEL} answer ", str(self._number)))


@dataclass
class Play:
    """A conversation and all requests to it."""

    seed: int
    sent: dict[str, str] = field(default_factory=dict)
    """Texts of the user's messages by id."""
    replies: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Person and text of replies by message id."""
    accepted: set[str] = field(default_factory=set)
    """Ids of messages whose sender knows that they are stored."""
    counts: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.choice = random.Random(self.seed)  # noqa: S311  a seed makes the play again
        hours = {"zone": "UTC", "week": {"mon-sun": "08:00-16:00"}}
        rules: dict[str, Any] = {**RULES, "closed": self.choice.choice(["tell", "queue"])}
        if self.choice.random() < 0.3:
            rules["hours"] = hours
        support = desk(triggers=["talk to a human"], desk=rules)
        self.harness = DeskHarness(support=support)
        tools = [{"type": "python", "name": "delete", "description": "Deletes.", "entry_point": "x:y"}]
        assistant = AgentDefinition.model_validate(
            {**ASSISTANT.model_dump(), "handoffs": [{"to": "support"}, {"to": "billing"}], "tools": tools}
        )
        self.harness.shipped_agents.definitions["assistant"] = assistant
        self.harness.tools.add("delete", _delete, parameters={"type": "object"}, requires_approval=True)
        self.model = RandomModel(self.choice, self._forbidden)
        self.harness.model = self.model  # type: ignore[misc]
        self.support = self.harness.shipped_agents.definitions["support"]
        self.hooked = with_webhooks(self.harness, webhook("crm", *EVENTS))
        self.owner = Scope(self.harness.ada.tenant_id, self.harness.ada.user_id)
        self.app = build(self.harness)

    def _forbidden(self) -> str | None:
        """Return why no model may be asked now; None if one may be."""
        row = self.harness.store.rows.get((self.owner.tenant_id, self.harness.thread_id))
        if row is not None and row.thread.conversation.desk is not None:
            return "a model was asked while a desk was active"
        return None

    async def run(self, steps: int) -> None:
        """Take steps at random, some of them at once, and look at the conversation after each."""
        while steps > 0:
            at_once = self.choice.choice([1, 1, 1, 2, 3])
            steps -= at_once
            await asyncio.gather(*(self._step() for _ in range(at_once)))
            await self._look()
        await self._settle()
        await self._look()
        bodies = await self.hooked.wait(1)
        with suppress(ThreadUnavailable):
            self.violations += find_event_problems(bodies, await self._thread())

    async def _step(self) -> None:
        kinds = (
            (self._say, 8),
            (self._repeat, 2),
            (self._ask, 3),
            (self._take, 5),
            (self._reply, 6),
            (self._note, 2),
            (self._hand_back, 2),
            (self._hand_on, 1),
            (self._exit, 1),
            (self._decide, 2),
            (self._wait, 3),
            (self._sweep, 3),
            (self._cancel, 1),
            (self._close, 1),
            (self._deploy, 1),
        )
        [step] = self.choice.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])
        self.counts[step.__name__.strip("_")] += 1
        with suppress(BatonError):  # refused, or the worker has died: nobody knows that it is done
            await step(self._worker())

    def _worker(self) -> App:
        """Return the use cases of a worker, which may die in one of its next calls."""
        if self.choice.random() >= 0.25:
            return self.app
        self.counts["kills"] += 1
        death = Death(self.choice.randint(1, 14), is_done=self.choice.random() < 0.5)
        mortal = {name: Mortal(getattr(self.harness, name), death) for name in PORTS}
        return build(self.harness.with_ports(**mortal, model=self.model))

    async def _thread(self) -> Thread:
        return await self.harness.store.get_thread(self.harness.ada, self.harness.thread_id)

    async def _run(self, app: App, request: Any, scope: Scope | None = None) -> Any:
        return await app.turns.run(scope or self.owner, request, lambda event: None, seconds=20, patience=0.2)

    async def _say(self, app: App, message_id: str | None = None) -> None:
        if message_id is None:
            message_id = f"u{len(self.sent)}"
            self.sent[message_id] = self.choice.choice(
                [f"Hello {message_id}", f"I want to talk to a human {message_id}", "cancel"]
            )
        await self._run(app, self.harness.request(message_id, self.sent[message_id]), self.harness.ada)
        self.accepted.add(message_id)

    async def _repeat(self, app: App) -> None:
        if self.sent:
            await self._say(app, self.choice.choice(sorted(self.sent)))

    async def _ask(self, app: App) -> None:
        thread = ThreadRef(self.harness.thread_id, may_create=False)
        await self._run(app, make_ask_request(thread, "support", key=str(uuid.UUID(int=self.choice.getrandbits(128)))))

    async def _take(self, app: App) -> None:
        thread = await self._thread()
        if thread.conversation.desk is not None:
            await self._run(app, make_take_request(thread, thread.conversation.desk, self._person()))

    async def _reply(self, app: App) -> None:
        person = self._person()
        if self.replies and self.choice.random() < 0.3:
            message_id = self.choice.choice(sorted(self.replies))
            person = next(person for person in PEOPLE if person.id == self.replies[message_id][0])
        else:
            message_id = f"p{len(self.replies)}"
            self.replies[message_id] = (person.id, f"Person {message_id}")
        await self._run(app, make_reply_request(await self._thread(), person, message_id, self.replies[message_id][1]))
        self.accepted.add(message_id)

    async def _note(self, app: App) -> None:
        thread = await self._thread()
        await self._run(app, make_note_request(thread, self._person(), f"n{self.choice.randrange(10**6)}", "A note."))

    async def _hand_back(self, app: App) -> None:
        thread = await self._thread()
        if thread.conversation.desk is not None:
            note = self.choice.choice(["", "All is well."])
            await self._run(app, make_return_request(thread, thread.conversation.desk, self._person(), note))

    async def _hand_on(self, app: App) -> None:
        thread = await self._thread()
        if thread.conversation.desk is not None:
            target = "billing" if thread.active_agent_id == "support" else "support"
            await self._run(
                app, make_transfer_request(thread, thread.conversation.desk, self._person(), target, "Please.")
            )

    async def _exit(self, app: App) -> None:
        thread = await self._thread()
        handoff_place = thread.conversation.handoff
        if handoff_place is not None:
            await self._run(app, make_exit_request(thread.id, key=f"{handoff_place.ordinal}.{handoff_place.number}"))

    async def _decide(self, app: App) -> None:
        thread = await self._thread()
        for interrupt in thread.open_interrupts[:1]:
            status = self.choice.choice(list(DecisionStatus))
            decision = InterruptDecision(interrupt.id, status, {"approved": True}, "ada")
            await self._run(app, make_decision_request(thread.id, [decision]), self.harness.ada)

    async def _wait(self, app: App) -> None:
        self.harness.clock.advance(self.choice.choice([1, 40, 170, 400]))

    async def _sweep(self, app: App) -> None:
        await app.sweeper.sweep(seconds=20)
        await self._run_queue(app)

    async def _run_queue(self, app: App) -> None:
        for _, queued in list(self.harness.queue.sent):
            with suppress(LeaseLost, StoreUnavailable):
                record = queued.model_dump_json(by_alias=True)
                await app.queued_turns.run(record, "", RecordDelivery(queued.request_id, 1), seconds=20)

    async def _cancel(self, app: App) -> None:
        await app.controls.cancel(self.harness.ada, self.harness.thread_id, None)

    async def _close(self, app: App) -> None:
        await app.controls.close(
            self.harness.ada, self.harness.thread_id, request_id=str(uuid.UUID(int=self.choice.getrandbits(128)))
        )
        await self._run_queue(app)

    async def _deploy(self, app: App) -> None:
        """Deploy the agents without the desk, or with it again."""
        definitions = self.harness.shipped_agents.definitions
        if definitions.pop("support", None) is None:
            definitions["support"] = self.support

    def _person(self) -> Person:
        return self.choice.choice(PEOPLE)

    async def _settle(self) -> None:
        """Finish with a live worker what dead workers have left, and repeat requests that may not be stored."""
        self.harness.clock.advance(60)
        for message_id in sorted(self.sent):
            with suppress(BatonError):
                await self._say(self.app, message_id)

    async def _look(self) -> None:
        """Compare the conversation with what was sent to it."""
        try:
            thread = await self._thread()
        except ThreadUnavailable:
            return
        self.violations += [*self.model.violations, *_problems_of_state(thread)]
        self.model.violations.clear()
        page = await self.harness.store.read_messages(self.harness.ada, thread, limit=1000, before=None)
        numbers = range(1, thread.episode)
        episodes = [await self.harness.episodes.get_ref(self.owner, thread.id, number) for number in numbers]
        ends = {ref.end_ordinal for ref in episodes if ref is not None}
        self.violations += _problems_of_messages(page.messages, ends)
        ids = Counter(message.id for message in page.messages)
        for message_id in self.accepted:
            if ids[message_id] != 1:
                self.violations.append(f"{message_id} was accepted and is there {ids[message_id]} times")
        for message in page.messages:
            text = self.sent.get(message.id) or self.replies.get(message.id, ("", ""))[1]
            if message.id in self.sent | self.replies and message.text != text:
                self.violations.append(f"{message.id} says {message.text!r} in place of {text!r}")
            if message.id in self.replies and (
                message.author is None or message.author.id != self.replies[message.id][0]
            ):
                self.violations.append(f"{message.id} is not its author's")
        listed = [
            listed.id
            for desk_id in ("support", "billing")
            for listed in await self.harness.desk_places.threads(self.owner, desk_id, limit=9)
        ]
        if listed != ([thread.id] if thread.conversation.desk is not None else []):
            self.violations.append(f"the desks list {listed}")


def _problems_of_state(thread: Thread) -> list[str]:
    """Return what is wrong about the state of a thread."""
    session, active = thread.conversation.desk, thread.active_agent_id
    if session is None:
        return [f"{active} is active without a desk"] if active != "assistant" else []
    problems = []
    if active not in ("support", "billing") or thread.conversation.handoff is None:
        problems.append(f"{active} is active at a desk")
    if (session.person is not None) != (session.status is DeskStatus.ACTIVE):
        problems.append(f"{session.status} with {session.person}")
    if session.unread > 0 and session.unanswered_since is None:
        problems.append(f"{session.unread} unread messages since {session.unanswered_since}")
    return problems


def _problems_of_messages(messages: Sequence[StoredMessage], ends: Collection[int]) -> list[str]:
    """Return what is wrong about the messages: words of models in runs that began at a desk, and wrong outcomes.

    ``ends`` are the ordinals before which a session has ended, and with it the conversation's time at a desk.
    """
    problems = []
    at_desk = False
    run: list[StoredMessage] = []
    for message in messages:
        at_desk = at_desk and message.ordinal not in ends
        run.append(message)
        if message.end is None:
            continue
        end, first = message.end, run[0]
        if at_desk and any(MODEL in part.text for part in run):
            problems.append(f"a model spoke in the run of {first.id} at a desk")
        stays = end.change is None or end.change.conversation.desk is not None
        is_plain = first.role is Role.USER and len(run) == 1
        if at_desk and stays and is_plain and end.outcome is not OutcomeType.DELIVERED:
            problems.append(f"{first.id} ended as {end.outcome} at a desk")
        if not at_desk and end.outcome is OutcomeType.DELIVERED:
            problems.append(f"{first.id} was delivered to nobody")
        if end.change is not None:
            at_desk = end.change.conversation.desk is not None
        run = []
    return problems


async def _delete() -> str:
    """Delete it."""
    return "Deleted."
