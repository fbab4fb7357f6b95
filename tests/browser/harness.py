"""The widget on the demo page with nothing behind it: files from the disk, and a server's part played by the test."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import dataclass, field
from typing import Any, Self

from ag_ui.core import (
    BaseEvent,
    RunAgentInput,
    RunFinishedEvent,
    RunFinishedOutcome,
    RunStartedEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    UserMessage,
)
from playwright.async_api import Locator, Page, Route, WebSocketRoute, expect

from baton.domain.threads.events import to_body
from baton_local import web
from baton_local.root import ROOT

Json = dict[str, Any]

PATIENCE_SECONDS = 60
"""For a frame that must come; only a failing test ever waits so long."""
ORIGIN = "http://localhost:8080"
PAGE = ROOT / "baton_local" / "page"
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
SESSION = "baton:session:demo:ada"
"""The key under which a browser keeps the id of the conversation."""
ASSISTANT: Json = {
    "id": "assistant",
    "name": "Assistant",
    "description": "Answers questions.",
    "avatarUrl": None,
    "isMain": True,
}
SPECIALIST: Json = ASSISTANT | {"id": "skills", "name": "Skill Builder", "isMain": False}
SKILL: Json = {"id": "w-1", "name": "Create a skill", "state": "defining_triggers", "label": "Triggers"} | {
    "step": 2,
    "steps": 4,
    "canExit": True,
}


def state(**changes: Any) -> Json:
    """A conversation's state: the main assistant answers, no workflow, active."""
    return {"activeAgent": ASSISTANT, "workflow": None, "resumable": [], "status": "active"} | changes


NEVER = 10**12
"""The number after which the client asks for events, to learn whether there is a conversation."""


def token(user: str) -> str:
    """A text that looks like a token of this user of the tenant ``demo``."""
    claims = json.dumps({"tenant": "demo", "sub": user}).encode()
    return f"a.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.c"


@dataclass
class Harness:
    """A stand-in for the server: ``answers`` to HTTP requests, and events over the page's WebSocket."""

    page: Page
    answers: dict[str, Json] = field(default_factory=dict)
    """By path; what is not there is a 404."""
    frames: list[Json] = field(default_factory=list)
    """The frames that the page has sent, without pings."""
    thread_id: str = ""
    seq: int = 0
    connections: int = 0
    """The number of connections that the page has opened."""
    headers: dict[str, str] = field(default_factory=dict)
    """Headers of the page and of all that it loads."""
    answers_pings: bool = True
    attempt: int = 1
    """The attempt of a worker to which the events belong."""
    _runs: int = 0
    _socket: WebSocketRoute | None = None

    async def open(self) -> Self:
        """Open the page and return once it is connected."""
        self.answers.setdefault("/v1/threads", {"items": [], "nextCursor": None})
        self.answers.setdefault("/local/token", {"token": token("ada")})
        self.answers.setdefault("/local/about", {"model": "baton-demo", "isDemoModel": True})
        await self.page.route(f"{ORIGIN}/**", self._answer)
        await self.page.route_web_socket(f"{ORIGIN.replace('http', 'ws')}/ws", self._accept_socket)
        await self.page.goto(ORIGIN)
        await self.wait_until_connected()
        return self

    async def wait_until_connected(self) -> None:
        """Wait until there is a connection."""
        await expect(self.page.locator("[part=status]")).to_have_attribute("data-status", "open")

    @property
    def announced(self) -> Locator:
        """The last text for screen readers."""
        return self.page.locator("baton-chat .root > [aria-live=polite]")

    @property
    def agent(self) -> Locator:
        """The answering agent, above the conversation."""
        return self.page.locator(".header .name")

    @property
    def step(self) -> Locator:
        """The progress of a workflow."""
        return self.page.locator("[part=step]")

    async def remember(self, thread_id: str) -> None:
        """Have the browser remember that this was the user's conversation."""
        await self.page.add_init_script(f"localStorage.setItem('{SESSION}', '{thread_id}')")

    async def say(self, text: str) -> Json:
        """Type a message and send it; return the frame."""
        await self.page.get_by_role("textbox", name="Your message").fill(text)
        await self.page.keyboard.press("Enter")
        frame = await self.take_frame("message")
        self.thread_id = frame["threadId"]
        return frame

    async def take_frame(self, action: str) -> Json:
        """Wait for a frame with this action; remove the newest one and return it."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                for index, frame in reversed(list(enumerate(self.frames))):
                    if frame["action"] == action:
                        return self.frames.pop(index)
                await self.page.wait_for_timeout(10)

    async def begin(self, text: str, visible: Json | None = None) -> str:
        """Say something and have its run begin; return the run's id."""
        frame = await self.say(text)
        return await self.run(frame["messageId"], text, visible)

    async def run(self, message_id: str, text: str, visible: Json | None = None, parent: str | None = None) -> str:
        """Have a run begin, with ``shown`` as the state; return its id."""
        self._runs += 1
        run_id = f"run-{self._runs}"
        run_input = RunAgentInput(
            thread_id=self.thread_id,
            run_id=run_id,
            messages=[UserMessage(id=message_id, role="user", content=text)] if text else [],
        )
        started = RunStartedEvent(
            thread_id=self.thread_id,
            run_id=run_id,
            parent_run_id=parent,
            input=run_input,
            metadata={"messageId": message_id},
        )
        await self.play(started, StateSnapshotEvent(snapshot=visible or state()), run_id=run_id)
        return run_id

    async def end(self, outcome: RunFinishedOutcome | None = None) -> None:
        """End the run."""
        run_id = f"run-{self._runs}"
        await self.play(RunFinishedEvent(thread_id=self.thread_id, run_id=run_id, outcome=outcome))

    async def play(self, *events: BaseEvent, run_id: str | None = "") -> None:
        """Send events with their numbers, as part of the run that has begun last (``None``: of none)."""
        for event in events:
            await self.send(self._number_event(event, run_id))

    async def play_together(self, *events: BaseEvent) -> None:
        """Send events of the run that has begun last in one frame."""
        await self.send([self._number_event(event) for event in events])

    async def send(self, frame: Json | list[Json]) -> None:
        """Send a frame as it is. The page has it before anything that the test does next."""
        assert self._socket is not None
        self._socket.send(json.dumps(frame))
        await asyncio.sleep(0)  # Playwright hands it on in a separate task

    async def disconnect(self) -> None:
        """End the connection."""
        assert self._socket is not None
        await self._socket.close()

    def _number_event(self, event: BaseEvent, run_id: str | None = "") -> Json:
        self.seq += 1
        body = to_body(event)
        stamp = {"threadId": self.thread_id, "runId": run_id or None, "seq": self.seq, "attempt": self.attempt}
        if run_id == "":
            stamp["runId"] = f"run-{self._runs}"
        return {**body, "metadata": {**body.get("metadata", {}), **stamp}}

    async def _answer(self, route: Route) -> None:
        path = "/" + route.request.url.removeprefix(ORIGIN).lstrip("/").split("?")[0]
        if path in self.answers:
            await route.fulfill(json=self.answers[path], headers=self.headers)
            return
        if path.startswith("/widget/"):
            file = web.BUILT / path.removeprefix("/widget/")
        else:
            file = PAGE / (path.removeprefix("/local/page/") if path != "/" else "index.html")
        if file.is_file():
            headers = {"Content-Type": TYPES[file.suffix], **self.headers}
            await route.fulfill(body=file.read_bytes(), headers=headers)
        else:
            await route.fulfill(status=404, json={"title": "Not found", "status": 404})

    def _accept_socket(self, socket: WebSocketRoute) -> None:
        self._socket = socket
        self.connections += 1
        socket.on_message(self._receive_frame)

    def _receive_frame(self, message: str | bytes) -> None:
        frame = json.loads(message)
        if frame["action"] == "resume" and frame["after"] == NEVER:
            self._answer_probe(frame)
        elif frame["action"] != "ping":
            self.frames.append(frame)
        elif self._socket is not None and self.answers_pings:
            self._socket.send('{"type": "PONG"}')

    def _answer_probe(self, frame: Json) -> None:
        """Say whether there is such a conversation, as a resume after a number that it has not reached does."""
        assert self._socket is not None
        is_known = f"/v1/threads/{frame['threadId']}" in self.answers
        code = "invalid_sequence" if is_known else "thread_unavailable"
        metadata = {"action": "resume", "threadId": frame["threadId"], "retryable": False}
        self._socket.send(json.dumps({"type": "RUN_ERROR", "message": "No.", "code": code, "metadata": metadata}))


def answer(text: str, *sources: Json) -> tuple[TextMessageStartEvent, TextMessageContentEvent, TextMessageEndEvent]:
    """The events of an answer that is complete."""
    return (
        TextMessageStartEvent(message_id="t-1", role="assistant", name="Assistant"),
        TextMessageContentEvent(message_id="t-1", delta=text),
        TextMessageEndEvent(message_id="t-1", metadata={"sources": list(sources)}),
    )
