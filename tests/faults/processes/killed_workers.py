"""Conversations whose worker is killed at every stage of a turn, and every way in which the turn is taken up again.

All at once: they reach their stages, the worker processes die, and everybody waits together until the dead
ones' records come again or their leases run out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from baton.domain.tenants.identity import Scope
from baton.threads.requests.parsing import parse_message_request
from baton.threads.requests.queue_mapping import make_queued_message
from tests.e2e.gates import Gate
from tests.e2e.sockets import new_id
from tests.e2e.users import User
from tests.faults.processes.gated_model import GatedModel
from tests.faults.processes.table_proxy import ACQUIRE, COMMIT, TableProxy
from tests.faults.processes.viewer import Viewer
from tests.faults.screen import Screen

STAGES = ("before accept", "after accept", "mid stream", "before commit", "after commit")
WAYS = ("redelivery", "resume", "repeated message", "next message", "dead letter")


@dataclass
class Conversation:
    """One conversation whose worker dies at ``stage``."""

    stage: str
    way: str
    viewer: Viewer
    questions: dict[str, str]
    at_stage: Callable[[], Awaitable[object]]
    let_go: Callable[[], None]
    recovery: asyncio.Task[None] | None = field(default=None)

    @property
    def screen(self) -> Screen:
        return self.viewer.screen


@asynccontextmanager
async def kill_workers(
    pairs: Iterable[tuple[str, str]], ada: User, model: GatedModel, proxy: TableProxy
) -> AsyncIterator[dict[tuple[str, str], Conversation]]:
    """A conversation for each stage and way, right after the workers were killed; each recovers by itself."""
    async with AsyncExitStack() as stack:
        conversations = {}
        for stage, way in pairs:
            viewer = await stack.enter_async_context(Viewer(ada, new_id()))
            conversations[stage, way] = prepare(stage, way, viewer, model, proxy)
        for conversation in conversations.values():
            await conversation.viewer.send("m-1", f"{conversation.stage}/{conversation.way}")
        async with asyncio.timeout(120):
            await asyncio.gather(*(conversation.at_stage() for conversation in conversations.values()))
        assert await asyncio.to_thread(ada.cloud.kill_workers) == 2
        for conversation in conversations.values():
            conversation.let_go()
            conversation.recovery = asyncio.create_task(_take_up(conversation))
        yield conversations
        for conversation in conversations.values():
            assert conversation.recovery is not None
            conversation.recovery.cancel()
        await asyncio.wait([conversation.recovery for conversation in conversations.values() if conversation.recovery])


def prepare(stage: str, way: str, viewer: Viewer, model: GatedModel, proxy: TableProxy) -> Conversation:
    """Arrange that the worker stops at the stage."""
    content = f"{stage}/{way}"
    request = {"m-1": content}
    if stage in ("after accept", "mid stream"):
        gate = model.gates[content] = Gate("" if stage == "after accept" else f"{content}: one ", "and never more.")

        async def streaming() -> None:
            await asyncio.to_thread(model.wait_for_request, content)
            if stage == "mid stream":
                await viewer.wait_until(shows_text)

        return Conversation(stage, way, viewer, request, streaming, gate.open)
    expression = ACQUIRE if stage == "before accept" else COMMIT
    hold = proxy.hold(viewer.thread_id, expression, "after" if stage == "after commit" else "before")
    return Conversation(stage, way, viewer, request, lambda: asyncio.to_thread(hold.reached.wait, 120), hold.over.set)


async def _take_up(conversation: Conversation) -> None:
    viewer, user = conversation.viewer, conversation.viewer.user
    thread_id, content = viewer.thread_id, conversation.questions["m-1"]
    match conversation.way:
        case "resume":
            await viewer.resume()
        case "repeated message":
            answer = await user.ask(content, sessionId=thread_id, messageId="m-1")
            assert answer["messages"][0]["id"] == "m-1"
        case "next message":
            conversation.questions["m-2"] = "and then?"
            await user.ask("and then?", sessionId=thread_id, messageId="m-2")
        case "dead letter":
            body = make_queued_body(user, thread_id, "m-1", content)
            [answer] = await asyncio.to_thread(user.cloud.deliver, "DeadTurnsFunction", body)
            assert answer == {"batchItemFailures": []}
            conversation.questions["m-2"] = "and then?"
            await user.ask("and then?", sessionId=thread_id, messageId="m-2")
    await viewer.wait_until_answered(*conversation.questions)


def shows_text(screen: Screen) -> bool:
    """Return whether a part of the answer is shown."""
    return any(event["type"] == "TEXT_MESSAGE_CONTENT" for event in screen.events.values())


def make_queued_body(user: User, thread_id: str, message_id: str, content: str) -> str:
    """A message as it stands in the queue; no connection waits for a refusal."""
    scope = Scope(user.tenant, user.name)
    request = parse_message_request(scope, thread_id=thread_id, message_id=message_id, content=content)
    return make_queued_message(scope, request, request_id=new_id()).model_dump_json(by_alias=True)
