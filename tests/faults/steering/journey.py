"""A conversation in virtual time whose user writes while the agent works, and whose processes die at any call."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from baton.composition.app import App, build
from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import (
    AlreadyRunning,
    BatonError,
    LeaseLost,
    NotFound,
    StoreUnavailable,
    ThreadBusy,
    ThreadUnavailable,
)
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.queued import RecordDelivery
from baton.domain.threads.run_end import OutcomeType
from baton.entry.actions import Caller
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk, ModelSettings, Prompt, TextDelta
from tests.faults.capture.dying import Dying
from tests.faults.schedules.simulation import LoopClock
from tests.harness.busy import SEARCH
from tests.harness.harness import ASSISTANT, Harness
from tests.harness.sockets import TOKEN_LIFE

PORTS = ("store", "records", "audit", "log", "live", "queue", "connections")
AGAIN_SECONDS = 9.0
"""Seconds until a record whose worker has died is delivered again."""
THREAD_ID = "5f3d6c1e-0000-4000-8000-000000000001"


class Killed(Dying):
    """From one call of a port on, no other one succeeds."""

    async def pass_on(self, name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        self.calls += 1
        self.noted.append(name)
        is_dead = self.at is not None and self.calls >= self.at
        if is_dead and not (self.after and self.calls == self.at):
            raise StoreUnavailable
        result = await call()
        if is_dead:
            raise StoreUnavailable
        return result


@dataclass(frozen=True)
class Act:
    """An action of the user."""

    delay: float
    """Seconds since the last one."""
    kind: str
    """``send``, ``withdraw`` or ``cancel``."""
    number: int
    """The message's."""
    mode: str | None
    door: str

    @property
    def message_id(self) -> str:
        return f"m{self.number}"


@dataclass
class Planner:
    """A model that searches some times and then answers everything that the user has said in the exchange."""

    rounds: int
    problems: list[str] = field(default_factory=list)

    async def stream(
        self, settings: ModelSettings, prompts: Sequence[Prompt], **_: Any
    ) -> AsyncGenerator[ModelChunk, None]:
        self._check(prompts)
        questions = [index for index, prompt in enumerate(prompts) if _is_question(prompt)]
        exchange = prompts[questions[-1] :]
        results = sum(prompt.role is Role.TOOL for prompt in exchange)
        await asyncio.sleep(0.3)
        if results < self.rounds and settings.tool_choice != "none":
            yield ToolCall(f"call-{results}", "search", "{}")
            yield Finished(FinishReason.TOOL_CALLS, settings.model, Usage(10, 2))
            return
        texts = [str(prompt.content) for prompt in exchange if prompt.role is Role.USER]
        yield TextDelta(f"Answer to {', '.join(texts)}.")
        yield Finished(FinishReason.STOP, settings.model, Usage(10, 2))

    def _check(self, prompts: Sequence[Prompt]) -> None:
        """Note where the prompts break the rule of strict templates: results follow their calls at once."""
        due: list[str] = []
        for prompt in prompts:
            if due and (prompt.role is not Role.TOOL or prompt.tool_call_id not in due):
                self.problems.append(f"{prompt.role} in place of the results of {due}")
            due = [call.id for call in prompt.tool_calls] or [name for name in due if name != prompt.tool_call_id]


def _is_question(prompt: Prompt) -> bool:
    return prompt.role is Role.USER and not prompt.is_steered


class Journey:
    """The conversation, its user, its queue and its workers."""

    def __init__(self, acts: Sequence[Act], *, rounds: int, kills: dict[int, tuple[int, bool]]) -> None:
        self._acts = acts
        self._kills = kills
        self._processes = 0
        assistant = AgentDefinition.model_validate(ASSISTANT.model_dump() | {"tools": [SEARCH], "while_busy": "steer"})
        self.model = Planner(rounds)
        self.harness = Harness(assistant=assistant, clock=LoopClock(seed=1))
        self.harness.thread_id = THREAD_ID
        self.harness.tools.add("search", self._search)
        self.withdrawn: set[str] = set()
        self.happened = Counter[str]()
        self._http: dict[str, asyncio.Task[None]] = {}
        self._done: set[str] = set()
        self._is_over = False
        self._requests = 0

    async def _search(self) -> str:
        await asyncio.sleep(1)
        return "Three flights."

    def _process(self) -> App:
        """A new process, which may be one that dies."""
        self._processes += 1
        at, after = self._kills.get(self._processes, (None, False))
        dying = Killed(at, after)
        ports = {name: dying.wrap(getattr(self.harness, name)) for name in PORTS}
        return build(self.harness.with_ports(model=self.model, **ports))

    async def travel(self) -> None:
        """Let everything happen, until nothing waits."""
        working = asyncio.ensure_future(self._work())
        await self._write(Act(0, "send", 0, None, "socket"))
        for act in self._acts:
            await asyncio.sleep(act.delay)
            await {"send": self._send, "withdraw": self._withdraw, "cancel": self._cancel}[act.kind](act)
        await asyncio.gather(*self._http.values())
        self._is_over = True
        await working

    # The user

    async def _send(self, act: Act) -> None:
        self.happened[f"{act.mode} by {act.door}"] += 1
        if act.door == "socket":
            await self._write(act)
        elif act.message_id not in self._http:
            self._http[act.message_id] = asyncio.ensure_future(self._call(act))

    async def _write(self, act: Act) -> None:
        """Send a frame until it is answered; one that finds nothing to steer is sent as a plain message."""
        mode = act.mode
        while True:
            self._requests += 1
            now, tab = self.harness.clock.now(), f"tab{self._requests}"
            caller = Caller(self.harness.ada, tab, f"r-{self._requests}", now + TOKEN_LIFE, now)
            frame = {"action": "message", "threadId": THREAD_ID, "messageId": act.message_id, "content": _text(act)}
            with suppress(StoreUnavailable):
                await self._process().actions.handle(caller, json.dumps(frame | ({"whileBusy": mode} if mode else {})))
            answers = self.harness.connections.events(tab)
            if any(event["type"] == "CUSTOM" for event in answers):
                return
            codes = [event["code"] for event in answers if event["type"] == "RUN_ERROR"]
            mode = None if "nothing_running" in codes else mode
            await asyncio.sleep(1)

    async def _call(self, act: Act) -> None:
        """Send a message over HTTP until it has an outcome."""
        mode = act.mode
        while True:
            request = self.harness.request(act.message_id, _text(act), while_busy=mode)
            try:
                await self._process().turns.run(self.harness.ada, request, lambda event: None, seconds=60)
            except (StoreUnavailable, LeaseLost, ThreadBusy):
                await asyncio.sleep(1)
            except BatonError as refusal:
                if refusal.code == "message_withdrawn":
                    return
                if refusal.code != "nothing_running":
                    raise
                mode = None
            else:
                return

    async def _withdraw(self, act: Act) -> None:
        while True:
            try:
                await self._process().waiting.withdraw(self.harness.ada, THREAD_ID, act.message_id)
            except StoreUnavailable:
                await asyncio.sleep(0.2)
                continue
            except (AlreadyRunning, NotFound):
                return
            self.withdrawn.add(act.message_id)
            self.happened["withdrawn"] += 1
            return

    async def _cancel(self, act: Act) -> None:
        with suppress(StoreUnavailable, ThreadUnavailable):  # its process has died, or nothing has begun
            await self._process().controls.cancel(self.harness.ada, THREAD_ID, None)
        self.happened["cancelled"] += 1

    # The queue

    async def _work(self) -> None:
        """Deliver the records one after the other, each until its worker has not died."""
        receives = 0
        while True:
            waiting = [queued for _, queued in self.harness.queue.sent if queued.request_id not in self._done]
            if not waiting:
                if self._is_over:
                    return
                await asyncio.sleep(0.1)
                continue
            record, receives = waiting[0], receives + 1
            body = record.model_dump_json(by_alias=True)
            try:
                delivery = RecordDelivery(record.request_id, receives)
                await self._process().queued_turns.run(body, "", delivery, seconds=600)
            except (StoreUnavailable, LeaseLost, ThreadBusy):
                self.happened["worker died"] += 1
                assert receives < 50, "a record is delivered for ever"
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            self._done.add(record.request_id)
            receives = 0

    # Afterwards

    async def check(self) -> None:
        """Each message has entered a run, has had a turn or is withdrawn, once, and was answered."""
        assert self.model.problems == []
        messages = self.harness.store.committed("acme", THREAD_ID)
        sent = {"m0"} | {act.message_id for act in self._acts if act.kind == "send"}
        questions = Counter(message.id for message in messages if message.role is Role.USER)
        assert questions == Counter(sent - self.withdrawn)
        assert [message.ordinal for message in messages] == list(range(len(messages)))
        for run in _runs(messages):
            self._check_run(run)
        app = build(self.harness)
        assert await app.waiting.list_waiting(self.harness.ada, THREAD_ID) == []
        entries = await self.harness.live.waiting(self.harness.ada, THREAD_ID)
        assert all(entry.until is not None for entry in entries), "an entry of the queue stays"
        thread = await self.harness.store.get_thread(self.harness.ada, THREAD_ID)
        # A worker that dies with a repeated or withdrawn message leaves a run of which nothing is stored.
        assert thread.run is None or thread.run.message_id in questions.keys() | self.withdrawn
        replay = await app.replays.replay_after(self.harness.ada, thread, 0)
        events = [event.body["value"]["messageId"] for event in replay.events if "message_steered" in event.json()]
        assert events == [message.id for message in messages if message.is_steered]

    def _check_run(self, run: Sequence[StoredMessage]) -> None:
        question, end = run[0], run[-1].end
        assert end is not None
        assert question.is_question
        self.happened[f"run ended as {end.outcome.value}"] += 1
        for index, message in enumerate(run):
            if not message.is_steered:
                continue
            self.happened["entered"] += 1
            record = self.harness.store.turns[("acme", THREAD_ID), message.id]
            assert record.is_entered_in(question.run_id)
            if end.outcome is OutcomeType.SUCCESS:
                answers = [later.text for later in run[index:] if later.role is Role.ASSISTANT]
                assert any(message.text in answer for answer in answers), "an entered message was not answered"


def _text(act: Act) -> str:
    return f"Wish {act.number}"


def _runs(messages: Sequence[StoredMessage]) -> list[list[StoredMessage]]:
    runs: list[list[StoredMessage]] = [[]]
    for message in messages:
        runs[-1].append(message)
        if message.end is not None:
            runs.append([])
    assert runs.pop() == []
    return runs
