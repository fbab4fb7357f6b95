"""Clients of a generated case: they follow the protocol's rules for clients, and do nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import json
from base64 import b64encode
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

from baton.domain.errors import BatonError, MessageIdConflict
from baton.domain.threads.events import Event
from baton.entry.actions import Caller
from baton.threads.requests.parsing import parse_message_request
from tests.faults.generated.actors import START, Killed, current
from tests.faults.screen import Json, Screen

if TYPE_CHECKING:
    from tests.faults.generated.case import Case

SILENCE_SECONDS = 15.0
LARGE = 450_000
"""Characters that do not fit into an item of the table, not even compressed."""


class Client:
    """A user with a screen who sends one message after another."""

    def __init__(self, case: Case, name: str) -> None:
        self.case, self.name = case, name
        self.screen = Screen()
        self.waiting_for: set[str] = set()
        self.sent: list[str] = []

    async def talk(self, messages: int) -> None:
        """Send messages, each after the answer to the one before it; now and then one is repeated."""
        chance = self.case.plan.random
        for number in range(messages):
            await asyncio.sleep(chance.choice([0.0, 0.5, 8.0]) * chance.random())
            message_id = f"{self.name}-{number}"
            content = f"{message_id} says hello {chance.randint(0, 99)}"
            if self.case.plan.large and number == 0:
                content += f" {b64encode(chance.randbytes(LARGE * 3 // 4)).decode()}"
            self.case.questions[message_id] = content
            self.sent.append(message_id)
            self.waiting_for.add(message_id)
            await self.say(message_id, content)
            self.waiting_for.discard(message_id)
            if chance.random() < 0.1:
                await self.say(message_id, content)

    async def say(self, message_id: str, content: str) -> None:
        """Send a message until it is answered."""
        raise NotImplementedError

    async def catch_up(self) -> None:
        """See everything that there is to see."""
        raise NotImplementedError


class SocketClient(Client):
    """A client on a WebSocket that breaks now and then."""

    def __init__(self, case: Case, name: str) -> None:
        super().__init__(case, name)
        self._connections = 0
        self._connection: str | None = None
        self._last_event_at = 0.0
        self._resuming = False
        self._connect()

    async def look_on(self) -> None:
        """Watch, and ask what was missed whenever it has been silent for too long."""
        self._resume()
        while True:
            await asyncio.sleep(5)
            self._ask_after_silence()

    async def say(self, message_id: str, content: str) -> None:
        if len(content) >= LARGE:
            await post_repeatedly(self.case, message_id, content, lambda event: None)
            await self.catch_up()
            return
        self.send_message(message_id, content)
        repeated = 0
        while message_id not in self.screen.answered:
            await asyncio.sleep(1)
            refused = self._refusals_of(message_id)
            if any(not event["metadata"]["retryable"] for event in refused):
                self.case.violations.append(f"{message_id} was refused: {refused}")
                return
            if refused or (self._is_silent() and message_id not in self.screen.accepted):
                self.screen.refused.clear()
                self.send_message(message_id, content)
            elif self._is_silent():
                repeated += 1
                self.send_message(message_id, content) if repeated % 4 == 0 else self._resume()

    async def catch_up(self) -> None:
        store = self.case.product.store
        while True:
            thread = await store.get_thread(self.case.scope, self.case.thread_id)
            if self.screen.seen >= thread.last_seq and not self.screen.gap:
                return
            self._resume()
            await asyncio.sleep(5)

    def send(self, frame: Json) -> None:
        """Send a frame: a separate Lambda function takes it."""
        self._last_event_at = self.case.loop.time()
        if self._connection is not None:
            self.case.begin(self._handled(self._connection, json.dumps(frame)))

    def send_message(self, message_id: str, content: str) -> None:
        """Send a message, without waiting for anything."""
        about = {"threadId": self.case.thread_id, "messageId": message_id}
        self.send({"action": "message", **about, "content": content})

    def _refusals_of(self, message_id: str) -> list[Json]:
        """The refusals of a message; a conflict where there is one says nothing: one of the two is answered."""
        return [
            event
            for event in self.screen.refused
            if event["metadata"].get("messageId") == message_id
            and not (event["code"] == MessageIdConflict.code and message_id in self.case.contested)
        ]

    def receive(self, frame: str) -> None:
        """Take a frame; a plan may end the connection after any of its events."""
        self._last_event_at = self.case.loop.time()
        plan = self.case.plan
        for event in self.screen.take_frame(frame):
            if "resume" in event.get("metadata", {}):
                self._resuming = False
            if plan.random.random() < plan.drop_share and plan.drop_share and self.case.loop.time() < 150:
                self.case.begin(self._lose_connection())
                return
        if self.screen.gap and not self._resuming:
            self._resume()

    async def _handled(self, connection_id: str, frame: str) -> None:
        case = self.case
        caller = Caller(
            scope=case.scope,
            connection_id=connection_id,
            request_id=case.clock.new_id(),
            token_expires_at=START + timedelta(days=30),
            connected_at=case.clock.now(),
        )
        with contextlib.suppress(Killed, BatonError):
            await case.act("sockets", case.product.actions.handle(caller, frame))

    async def _lose_connection(self) -> None:
        lost, self._connection = self._connection, None
        if lost is None:
            return
        self.case.counts["disconnect"] += 1
        self.case.socket_clients.pop(lost, None)
        self.screen.disconnect()
        await asyncio.sleep(self.case.plan.random.uniform(0, 3))
        with contextlib.suppress(Killed, BatonError):
            await self.case.act("sockets", self.case.product.actions.forget_connection(lost))
        self._connect()
        self._resume()

    def _connect(self) -> None:
        self._connections += 1
        self._resuming = False
        self._connection = f"{self.name}-connection-{self._connections}"
        self.case.socket_clients[self._connection] = self

    def _resume(self) -> None:
        self._resuming = True
        self.send({"action": "resume", "threadId": self.case.thread_id, "after": self.screen.resume_after()})

    def _is_silent(self) -> bool:
        return self.case.loop.time() - self._last_event_at >= SILENCE_SECONDS

    def _ask_after_silence(self) -> None:
        if self._is_silent():
            self._resume()


class HttpClient(Client):
    """A client over HTTP, whose stream may break off after any event; it comes back by GET .../events."""

    async def say(self, message_id: str, content: str) -> None:
        chance, breaks_after = self.case.plan.random, self.case.plan.drop_share
        is_open = True

        def emit(event: Event) -> None:
            nonlocal is_open
            actor = current()
            is_open = is_open and not (actor is not None and actor.dead) and chance.random() >= breaks_after
            if is_open:
                self.screen.take(event.body)

        await post_repeatedly(self.case, message_id, content, emit)

    async def catch_up(self) -> None:
        case = self.case
        follower = case.product.follower
        while True:
            replays = follower.follow(case.scope, case.thread_id, after=self.screen.resume_after(), seconds=60)
            async for replay in replays:
                self.screen.resumed_to = replay.last_seq  # over HTTP a snapshot has no number
                for event in (*((replay.snapshot,) if replay.snapshot else ()), *replay.events):
                    self.screen.take(event.body)
            thread = await case.product.store.get_thread(case.scope, case.thread_id)
            if self.screen.seen >= thread.last_seq:
                return


async def post_repeatedly(case: Case, message_id: str, content: str, emit: Callable[[Event], None]) -> None:
    """POST the message until it is answered, as a client does that repeats itself after an error."""
    while True:
        request = parse_message_request(case.scope, thread_id=case.thread_id, message_id=message_id, content=content)
        try:
            await case.act("http", case.product.turns.run(case.scope, request, emit, seconds=840))
        except (Killed, BatonError) as error:
            if isinstance(error, MessageIdConflict) and message_id in case.contested:
                return
            if isinstance(error, BatonError) and not error.retryable:
                case.violations.append(f"{message_id} was refused: {error!r}")
                return
            await asyncio.sleep(2)
        else:
            return
