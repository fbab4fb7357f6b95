"""A stored conversation, read by the HTTP API of a running deployment, and its form without personal data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from baton.adapters.pii import InProcessPiiDetector
from baton.tenants.privacy.readers import may_hold_text, replace_texts
from baton.tenants.privacy.redaction import Redactor
from baton_testing.errors import CannotRun

Json = dict[str, Any]
PAGE = 100
"""The items of a page."""
SECONDS = 30.0
"""The time limit of a request."""


@dataclass(frozen=True, slots=True)
class StoredThread:
    """A conversation in the form of the API. All lists are oldest first."""

    thread: Json
    messages: list[Json]
    tool_calls: list[Json]
    tasks: list[Json]
    handoffs: list[Json]
    contexts: Mapping[str, Json]
    """The Context Inspector's records by run, as far as they exist and the token may read them."""
    tenant_id: str

    @property
    def id(self) -> str:
        """The conversation's id."""
        return str(self.thread.get("threadId") or self.thread.get("id"))

    async def redact(self) -> StoredThread:
        """Return a copy with placeholders for personal data. Equal values get the same placeholder."""
        whole = {name: getattr(self, name) for name in self.__slots__}
        redactor = Redactor(InProcessPiiDetector())
        clean = await replace_texts(whole, redactor, may_hold_text)
        return StoredThread(**clean)


async def read_thread(client: httpx.AsyncClient, thread_id: str) -> StoredThread:
    """Read a conversation. Raises ``CannotRun``."""
    base = f"/v1/threads/{quote(thread_id, safe='')}"
    thread = await _get(client, base)
    messages = await _read_all(client, f"{base}/messages", roles="user,assistant,tool")
    messages.sort(key=lambda message: message["metadata"]["ordinal"])
    tasks = [
        await _get(client, f"{base}/tasks/{quote(record['taskId'], safe='')}")
        for record in await _read_all(client, f"{base}/tasks")
    ]
    contexts: dict[str, Json] = {}
    for run_id in dict.fromkeys(str(message["metadata"]["runId"]) for message in messages):
        context = await _read_context(client, f"{base}/turns/{quote(run_id, safe='')}/context")
        if context is not None:
            contexts[run_id] = context
    return StoredThread(
        thread,
        messages,
        sorted(await _read_all(client, f"{base}/tool-calls"), key=lambda record: str(record["calledAt"])),
        sorted(tasks, key=lambda task: str(task["startedAt"])),
        sorted(await _read_all(client, f"{base}/handoffs"), key=lambda record: str(record["startedAt"])),
        contexts,
        (await _get(client, "/v1/users/me"))["tenantId"],
    )


def read_text(message: Json) -> str:
    """Return the text of a message: its text parts, each from a new line; empty without such parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")


async def _read_all(client: httpx.AsyncClient, path: str, **params: Any) -> list[Json]:
    """Return the items of all pages."""
    records: list[Json] = []
    cursor: str | None = None
    while True:
        page = await _get(client, path, limit=PAGE, **params, **({"cursor": cursor} if cursor else {}))
        records += page["items"]
        cursor = page.get("nextCursor")
        if cursor is None:
            return records


async def _read_context(client: httpx.AsyncClient, path: str) -> Json | None:
    """Return an inspector's record; None if it is incomplete, or the server does not answer with it."""
    answer = await _request(client, path)
    context = answer.json() if answer.is_success else None
    return context if isinstance(context, dict) and context.get("calls") and not context.get("cut") else None


async def _get(client: httpx.AsyncClient, path: str, **params: Any) -> Json:
    answer = await _request(client, path, **params)
    if not answer.is_success:
        try:
            detail = answer.json().get("detail", "")
        except (ValueError, AttributeError):
            detail = ""
        is_refused = answer.status_code in (401, 403, 404)
        advice = " Sign in as somebody who may read it, or set BATON_TOKEN." if is_refused else ""
        raise CannotRun(f"{answer.url} answered {answer.status_code}. {detail}{advice}")
    try:
        body = answer.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise CannotRun(f"{answer.url} is not Baton: it answered no JSON object. Is the address right?")
    return body


async def _request(client: httpx.AsyncClient, path: str, **params: Any) -> httpx.Response:
    try:
        return await client.get(path, params=params)
    except httpx.TimeoutException:
        raise CannotRun(f"{client.base_url} did not answer within {SECONDS:g} seconds. Please try again.") from None
    except httpx.HTTPError as problem:
        raise CannotRun(f"{client.base_url} cannot be reached: {problem}. --url or BATON_URL names it.") from None
