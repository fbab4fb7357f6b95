"""A2A over fakes: calls of both protocol lines, and a queue whose turns run at once."""

from __future__ import annotations

import asyncio
import json
import uuid
from dataclasses import dataclass, field
from typing import Any

import httpx

from baton.api.a2a.access import A2AAccess
from baton.domain.tenants.identity import Scope
from baton.domain.threads.queued import Queued, RecordDelivery
from baton_testing.fakes.threads.turn_queue import FakeTurnQueue
from tests.a2a_schema import check_response
from tests.harness.harness import Harness
from tests.unit.api.served import Served

Json = dict[str, Any]


@dataclass
class WorkedQueue(FakeTurnQueue):
    """A queue that runs each record in a separate task, in order within a thread, as a worker does."""

    harness: Harness | None = None
    is_held: bool = False
    """Whether records wait."""
    working: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def send(self, scope: Scope, message: Queued) -> None:
        await super().send(scope, message)
        if not self.is_held:
            self.work_off()

    def work_off(self) -> None:
        """Run the waiting records."""
        self.is_held = False
        taken, self.sent = self.sent, []
        for _, message in taken:
            before = self.working.get(message.thread_id)
            self.working[message.thread_id] = asyncio.ensure_future(self._run(before, message))

    async def _run(self, before: asyncio.Task[None] | None, message: Queued) -> None:
        if before is not None:
            await before
        assert self.harness is not None
        delivery = RecordDelivery(str(uuid.uuid4()), 1)
        runner = self.harness.app.dead_turns  # the one without the record's visibility
        await runner.run(message.model_dump_json(by_alias=True), "handle", delivery, seconds=60)

    async def wait_until_idle(self) -> None:
        """Wait until every record has run."""
        while any(not task.done() for task in self.working.values()):
            await asyncio.gather(*self.working.values())


class A2AServed(Served):
    """The API over a harness, called by JSON-RPC."""

    def __post_init__(self) -> None:
        self.queue = WorkedQueue(harness=self.harness)
        self.harness.queue = self.queue
        self.a2a = self.a2a or A2AAccess(pushes=lambda: True)
        self.answered_calls = 0
        """The number of calls with an answer, be it the first event of a stream."""
        super().__post_init__()

    async def call(
        self,
        method: str,
        params: Any,
        *permissions: str,
        user: str = "ada",
        tenant: str | None = None,
        path: str = "/a2a",
        request_id: Any = 1,
        version: str | None = None,
    ) -> Json:
        """Make a call, and return its response or the first event of its stream."""
        return (
            await self.calls(
                method,
                params,
                *permissions,
                user=user,
                tenant=tenant,
                path=path,
                request_id=request_id,
                version=version,
            )
        )[0]

    async def calls(
        self, method: str, params: Any, *permissions: str, request_id: Any = 1, version: str | None = None, **who: Any
    ) -> list[Json]:
        """Make a call, and return its response or all events of its stream."""
        body = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        headers = {"A2A-Version": version} if version is not None else {}
        answer = await self.post_a2a(json.dumps(body).encode(), *permissions, headers=headers, **who)
        assert answer.status_code == 200, answer.text
        reported = responses(answer)
        for event in reported:
            check_response(method, event, request_id=request_id)
        return reported

    async def post_a2a(
        self,
        body: bytes,
        *permissions: str,
        user: str | None = "ada",
        tenant: str | None = None,
        path: str = "/a2a",
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        """Send any body."""
        headers = dict(headers or {})
        if user is not None:
            token = ",".join([tenant or self.harness.ada.tenant_id, user, *permissions])
            headers["Authorization"] = f"Bearer {token}"
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(self._counted), base_url="http://baton.test", headers=headers
        ) as client:
            return await client.post(path, content=body, headers={"Content-Type": "application/json"})

    async def wait_for_answers(self, calls: int) -> None:
        """Wait until ``calls`` calls have an answer."""
        async with asyncio.timeout(10):
            while self.answered_calls < calls:  # noqa: ASYNC110 - an answer is counted where it is sent
                await asyncio.sleep(0.001)

    async def _counted(self, scope: Any, receive: Any, send: Any) -> None:
        is_answered = False

        async def counted(event: Any) -> None:
            nonlocal is_answered
            await send(event)
            if event.get("body") and not is_answered:
                is_answered = True
                self.answered_calls += 1

        await self.app(scope, receive, counted)


def responses(answer: httpx.Response) -> list[Json]:
    """The server's answers: one response, or those of a stream."""
    if answer.headers["Content-Type"].startswith("application/json"):
        return [answer.json()]
    lines = [line for line in answer.text.split("\n") if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def message(text: str = "Hello", message_id: str | None = None, **fields: Any) -> Json:
    """A message of A2A 0.3."""
    parts = [{"kind": "text", "text": text}]
    return {"kind": "message", "messageId": message_id or str(uuid.uuid4()), "role": "user", "parts": parts} | fields


def blocking(sent_message: Json, **configuration: Any) -> Json:
    """The parameters of a message whose sender waits for the answer."""
    return {"message": sent_message, "configuration": {"blocking": True} | configuration}


def text_of(sent_message: Json) -> str:
    """The text of a message or artifact, in either line's form."""
    return "".join(part.get("text", "") for part in sent_message["parts"])
