"""Three doors to one conversation: the WebSocket, ``POST /v1/runs`` and ``POST /v1/messages``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self

from tests.e2e.ag_ui_rules import check_run
from tests.e2e.sockets import SocketClient
from tests.e2e.users import User, run_input

Json = dict[str, Any]


@dataclass(frozen=True)
class ReceivedAnswer:
    """The answer to a user's message."""

    messages: list[tuple[str, str]]
    """The speaker and the text of each."""
    state: Json
    """The state of the conversation after the answer."""
    events: list[Json] | None
    """None behind the door that answers with messages alone."""

    @property
    def last(self) -> str:
        return self.messages[-1][1]

    @property
    def notices(self) -> list[str]:
        """The labels of what was shown between the messages."""
        return [event["content"]["label"] for event in self.events or () if event["type"] == "ACTIVITY_SNAPSHOT"]

    @property
    def steps(self) -> list[str]:
        """The workflow's states that were shown, as steps."""
        return [event["stepName"] for event in self.events or () if event["type"] == "STEP_STARTED"]


class Door(ABC):
    """A way to speak in threads."""

    user: User

    @classmethod
    @asynccontextmanager
    async def of(cls, user: User) -> AsyncIterator[Self]:
        """Open it for ``user``."""
        opened = cls()
        opened.user = user
        yield opened

    @abstractmethod
    async def say(self, text: str, thread_id: str) -> ReceivedAnswer:
        """Say something, and hear the whole answer."""

    async def _check_answer(self, thread_id: str, events: list[Json]) -> ReceivedAnswer:
        check_run(events)
        assert events[-1]["type"] == "RUN_FINISHED", events[-1]
        state = follow_state(events)
        assert state == (await self.user.read(f"/threads/{thread_id}"))["state"]
        return ReceivedAnswer(texts(events), state, events)


class OverSocket(Door):
    """The WebSocket."""

    socket: SocketClient

    @classmethod
    @asynccontextmanager
    async def of(cls, user: User) -> AsyncIterator[Self]:
        """Connect."""
        async with user.connect() as socket:
            opened = cls()
            opened.user, opened.socket = user, socket
            yield opened

    async def say(self, text: str, thread_id: str) -> ReceivedAnswer:
        return await self._check_answer(thread_id, await self.socket.say(text, thread_id=thread_id))


class OverRuns(Door):
    """AG-UI over server-sent events."""

    async def say(self, text: str, thread_id: str) -> ReceivedAnswer:
        return await self._check_answer(thread_id, await self.user.run(run_input(text, thread_id=thread_id)))


class OverMessages(Door):
    """One request, one JSON answer."""

    async def say(self, text: str, thread_id: str) -> ReceivedAnswer:
        body = await self.user.ask(text, sessionId=thread_id)
        assert body["outcome"] == {"type": "success"}
        messages = [
            (message["metadata"]["agentName"], message["content"])
            for message in body["messages"]
            if message["role"] == "assistant" and message.get("content")
        ]
        return ReceivedAnswer(messages, body["state"], None)


DOORS: Sequence[type[Door]] = (OverSocket, OverRuns, OverMessages)


def texts(events: Sequence[Json]) -> list[tuple[str, str]]:
    """The messages in the events: the agent's name and its words."""
    names = {event["messageId"]: event["name"] for event in events if event["type"] == "TEXT_MESSAGE_START"}
    words = dict.fromkeys(names, "")
    for event in events:
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            words[event["messageId"]] += event["delta"]
    return [(names[message_id], word) for message_id, word in words.items()]


def follow_state(events: Sequence[Json]) -> Json:
    """The state as a client has it that follows the events."""
    state: Json = {}
    for event in events:
        if event["type"] == "STATE_SNAPSHOT":
            state = dict(event["snapshot"])
        elif event["type"] == "STATE_DELTA":
            for change in event["delta"]:
                assert change["op"] == "replace"
                state[change["path"].removeprefix("/")] = change["value"]
    return state
