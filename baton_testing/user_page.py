"""The user's page: it sends messages while the agent works, and gets the events of runs that no step waits for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from baton.composition.app import App
from baton.domain.errors import BatonError
from baton.domain.tenants.identity import Scope
from baton.domain.threads.events import Event
from baton.domain.threads.queued import RecordDelivery
from baton.entry.actions import Caller
from baton_testing.actions import Meanwhile
from baton_testing.conversation_ports import ConversationPorts

TURN_SECONDS = 840.0
"""The time limit of a turn in virtual time, as for a worker."""
PAGE = "page"
"""The id of the page's connection."""
_LIFETIME = timedelta(days=365)
"""The validity of the page's token."""
_NOTICED_SECONDS = 5.0
"""The virtual time that passes after a message, so that a worker, which checks every two seconds, can stop the run."""


class UserPage:
    """The user's page with a conversation."""

    def __init__(self, ports: ConversationPorts, app: App, scope: Scope, name: str, thread_id: str) -> None:
        """``name`` is the client's name of the thread ``thread_id``."""
        self._ports = ports
        self._app = app
        self._scope = scope
        self._name = name
        self._thread_id = thread_id
        self._unsent: list[Meanwhile] = []
        self._requests = 0
        self.refusal: str | None = None
        """The code of the error with which a message was refused, or None."""

    @contextmanager
    def writing(self, messages: Sequence[Meanwhile], next_id: Callable[[], str]) -> Iterator[None]:
        """Send messages at their times while the block runs.

        Afterwards ``unsent`` has the messages whose times did not come.
        """
        self.refusal, self._unsent = None, list(messages)
        if not messages:
            yield
            return

        async def send(tool: str | None) -> None:
            while self._unsent and self._unsent[0].during in (None, tool):
                await self._send(self._unsent.pop(0), next_id())

        async def before_model() -> None:
            await send(None)

        self._ports.model.before, self._ports.tools.before = before_model, send
        try:
            yield
        finally:
            self._ports.model.before = self._ports.tools.before = None

    @property
    def unsent(self) -> Sequence[Meanwhile]:
        """The messages that were not sent, because the tools during whose calls they are sent were not called."""
        return tuple(self._unsent)

    async def _send(self, message: Meanwhile, message_id: str) -> None:
        self._requests += 1
        now = self._ports.clock.now()
        caller = Caller(self._scope, PAGE, f"page-{self._requests}", now + _LIFETIME, now)
        frame = {"action": "message", "threadId": self._name, "messageId": message_id, "content": message.say}
        if message.while_busy is not None:
            frame["whileBusy"] = message.while_busy
        self._ports.connections.frames.clear()
        await self._app.actions.handle(caller, json.dumps(frame))
        refusals = [event for event in self._ports.connections.events(PAGE) if event["type"] == "RUN_ERROR"]
        self._ports.connections.frames.clear()
        self.refusal = self.refusal or next((str(event["code"]) for event in refusals), None)
        if message.withdraws and not refusals:
            try:
                await self._app.waiting.withdraw(self._scope, self._thread_id, message_id)
            except BatonError as refusal:
                self.refusal = self.refusal or refusal.code
        await asyncio.sleep(_NOTICED_SECONDS)

    async def run_queued_turns(self) -> list[Event]:
        """Run the turns in the queue, and return the events that the page receives; none if the queue is empty."""
        queue, live, connections = self._ports.queue, self._ports.live, self._ports.connections
        connections.frames.clear()
        if not queue.sent:
            return []
        await live.attach(self._scope, self._thread_id, PAGE, self._ports.clock.now() + _LIFETIME)
        while queue.sent:
            _, message = queue.sent.pop(0)
            delivery = RecordDelivery(message.request_id, 1)
            body = message.model_dump_json(by_alias=True)
            await self._app.queued_turns.run(body, "", delivery, seconds=TURN_SECONDS)
        await live.detach(self._scope, self._thread_id, PAGE)
        return [Event(body) for body in connections.events(PAGE)]
