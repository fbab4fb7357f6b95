"""An agent that runs elsewhere: the official SDK's server, whose agent does what each message asks of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
from a2a.helpers import get_text_parts, new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Message, Part, Role, TaskState
from google.protobuf.json_format import MessageToDict, ParseDict  # type: ignore[import-untyped]
from google.protobuf.struct_pb2 import Value  # type: ignore[import-untyped]
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

URI = "https://baton.dev/a2a/extensions/conversation/v1"
RETURN = {"return": {"summary": "A table at eight.", "outcome": "completed"}}
"""The agent's report when it hands a conversation back."""


@dataclass
class RemoteAgent:
    """The agent, and what it noticed. ``version`` is that of A2A in its card."""

    streams: bool = True
    version: str = "0.3"
    input_modes: tuple[str, ...] = ("text/plain", "image/*", "application/pdf", "application/json")
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """Path and headers of each request."""
    messages: list[dict[str, Any]] = field(default_factory=list)
    """Messages as the SDK's server read them."""
    received: list[tuple[str, str, str | None]] = field(default_factory=list)
    """Id and text of each message, and the task that it goes on with."""
    tasks: dict[str, list[str]] = field(default_factory=dict)
    """The texts of each task's messages."""
    rpc_base: str | None = None
    """The address in the card, if not the card's own."""
    pushes: bool = False
    """Whether its card offers push notifications."""
    push_transport: httpx.AsyncBaseTransport | None = None
    """The way of its push notifications."""
    required_header: tuple[str, str] | None = None
    """Name and value of a header without which every request is refused with 401."""

    def __post_init__(self) -> None:
        self.cancelled = threading.Event()
        self.working = threading.Event()
        self.gate = threading.Event()

    def app(self, base: Callable[[], str]) -> ASGIApp:
        """Serve it at ``base()``, which is asked when the first request comes."""
        apps: list[ASGIApp] = []

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            if not apps:
                apps.append(self._make_app(self.rpc_base or base()))
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            self.requests.append((scope["path"], headers))
            if self.required_header is not None and headers.get(self.required_header[0]) != self.required_header[1]:
                await send({"type": "http.response.start", "status": 401, "headers": []})
                await send({"type": "http.response.body", "body": b"Who are you?"})
                return
            await apps[0](scope, receive, send)

        return serve

    def _make_app(self, base: str) -> ASGIApp:
        card = AgentCard(
            name="Echo",
            description="Follows its instructions.",
            version="1",
            supported_interfaces=[
                AgentInterface(url=f"{base}/rpc", protocol_binding="JSONRPC", protocol_version=self.version)
            ],
            capabilities=AgentCapabilities(streaming=self.streams, push_notifications=self.pushes),
            default_input_modes=list(self.input_modes),
            default_output_modes=["text/plain"],
            skills=[AgentSkill(id="echo", name="Echo", description="Repeats.", tags=["echo"])],
        )
        configs = InMemoryPushNotificationConfigStore()
        sender = BasePushNotificationSender(httpx.AsyncClient(transport=self.push_transport), configs)
        handler = DefaultRequestHandler(
            _Executor(self), InMemoryTaskStore(), card, push_config_store=configs, push_sender=sender
        )
        routes = [
            *create_agent_card_routes(card),
            *create_agent_card_routes(card, card_url="/elsewhere/card.json"),
            *create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=True),
        ]
        return Starlette(routes=routes)


class _Executor(AgentExecutor):
    """``verb word word ...``, the last text of the message: what to do with the words."""

    def __init__(self, agent: RemoteAgent) -> None:
        self._agent = agent

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        self._agent.messages.append(MessageToDict(context.message, preserving_proto_field_name=True))
        existing = context.task_id if context.current_task is not None else None
        texts = get_text_parts(context.message.parts)
        order = texts[-1] if texts else "say Thanks for the file."
        self._agent.received.append((context.message.message_id, order, existing))
        verb, *words = order.split(" ")
        if verb in ("say", "bye"):
            message = new_text_message(" ".join(words), role=Role.ROLE_AGENT)
            if verb == "bye":
                message.metadata.update(RETURN)
            await event_queue.enqueue_event(message)
            return
        if context.current_task is None:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
        assert context.task_id is not None
        assert context.context_id is not None
        self._agent.tasks.setdefault(context.task_id, []).append(order)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await getattr(self, f"_{verb}")(updater, words)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id is not None
        assert context.context_id is not None
        self._agent.cancelled.set()
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()

    async def _artifact(self, updater: TaskUpdater, words: list[str]) -> None:
        await updater.start_work(_make_message(updater, "Looking it up"))
        await self._chunks(updater, words)
        await updater.complete()

    async def _repeat(self, updater: TaskUpdater, words: list[str]) -> None:
        await self._chunks(updater, words)
        await updater.complete(_make_message(updater, "".join(words)))

    async def _two(self, updater: TaskUpdater, words: list[str]) -> None:
        for word in words:
            await updater.add_artifact([Part(text=word)], last_chunk=True)
        await updater.complete(_make_message(updater, "That is all."))

    async def _status(self, updater: TaskUpdater, words: list[str]) -> None:
        await updater.complete(_make_message(updater, " ".join(words)))

    async def _mutter(self, updater: TaskUpdater, words: list[str]) -> None:
        for word in words:
            await updater.start_work(_make_message(updater, word))
        await updater.complete()

    async def _ask(self, updater: TaskUpdater, words: list[str]) -> None:
        await updater.requires_input(_make_message(updater, " ".join(words)))

    async def _recall(self, updater: TaskUpdater, words: list[str]) -> None:
        """Repeat the task's messages, and wait for another."""
        await updater.requires_input(_make_message(updater, "; ".join(self._agent.tasks[updater.task_id])))

    async def _drip(self, updater: TaskUpdater, words: list[str]) -> None:
        """Say one word after the other, and wait for another message."""
        for index, word in enumerate(words):
            await updater.add_artifact([Part(text=f"{word} ")], artifact_id="drops", append=index > 0)
            await asyncio.sleep(0.3)
        await updater.requires_input()

    async def _answer(self, updater: TaskUpdater, words: list[str]) -> None:
        await updater.start_work()
        await updater.add_artifact([Part(text=" ".join(words))])
        await updater.complete()

    async def _return(self, updater: TaskUpdater, words: list[str]) -> None:
        """Hand back, in the metadata of what the first word says: the last message, status or task."""
        location, *messages = words
        message = updater.new_agent_message([Part(text=" ".join(messages))], RETURN if location == "message" else None)
        if location == "task":
            await updater.update_status(TaskState.TASK_STATE_WORKING, metadata=RETURN)
        metadata = {URI: RETURN} if location == "status" else None
        await updater.update_status(TaskState.TASK_STATE_COMPLETED, message, metadata=metadata)

    async def _fail(self, updater: TaskUpdater, words: list[str]) -> None:
        await updater.failed(_make_message(updater, " ".join(words)))

    async def _reject(self, updater: TaskUpdater, words: list[str]) -> None:
        await updater.reject(_make_message(updater, " ".join(words)))

    async def _auth(self, updater: TaskUpdater, words: list[str]) -> None:
        await updater.requires_auth(_make_message(updater, " ".join(words)))

    async def _form(self, updater: TaskUpdater, words: list[str]) -> None:
        """Ask for data without a word."""
        form = {"type": "object", "properties": {word: {"type": "string"} for word in words}}
        await updater.requires_input(updater.new_agent_message([Part(data=ParseDict(form, Value()))]))

    async def _files(self, updater: TaskUpdater, words: list[str]) -> None:
        parts = [Part(raw=word.encode(), filename=word, media_type="text/plain") for word in words]
        await updater.complete(updater.new_agent_message(parts))

    async def _link(self, updater: TaskUpdater, words: list[str]) -> None:
        """Give a file by its address: here, or elsewhere."""
        [address] = words
        await updater.complete(updater.new_agent_message([Part(url=address, filename="card.json")]))

    async def _gated(self, updater: TaskUpdater, words: list[str]) -> None:
        """Say one word, and the rest once the gate is open."""
        await updater.add_artifact([Part(text=words[0])], artifact_id="a1")
        self._agent.working.set()
        await asyncio.to_thread(self._agent.gate.wait, 60)
        await updater.add_artifact([Part(text=" ".join(words[1:]))], artifact_id="a1", append=True)
        await updater.complete()

    async def _break(self, updater: TaskUpdater, words: list[str]) -> None:
        await self._chunks(updater, words)
        raise RuntimeError("A bug of the agent")

    async def _hang(self, updater: TaskUpdater, words: list[str]) -> None:
        await updater.start_work()
        await self._chunks(updater, [" ".join(words)])
        self._agent.working.set()
        await asyncio.Event().wait()

    async def _big(self, updater: TaskUpdater, words: list[str]) -> None:
        for index in range(int(words[0])):
            await updater.add_artifact([Part(text="x" * 10_000)], artifact_id="big", append=index > 0)
        await updater.complete()

    async def _chunks(self, updater: TaskUpdater, words: list[str]) -> None:
        for index, word in enumerate(words):
            last = index == len(words) - 1
            await updater.add_artifact([Part(text=word)], artifact_id="a1", append=index > 0, last_chunk=last)


def _make_message(updater: TaskUpdater, text: str) -> Message:
    return updater.new_agent_message([Part(text=text)])
