"""Documents as a client gives them to an agent over real HTTP."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import Any

import httpx

from tests.e2e.users import Json, User

SECONDS = 90
HANDBOOK = "Travel\n\nA hotel room may cost at most 140 euros a night.\n\nSick leave\n\nCall before nine.\n"


async def announce(user: User, body: str, **fields: Any) -> Json:
    """POST a document; return the answer."""
    data = body.encode()
    request = {"name": "handbook.txt", "contentType": "text/plain", "size": len(data)}
    request |= {"sha256": hashlib.sha256(data).hexdigest(), **fields}
    answer = await user.post("/agents/assistant/documents", request)
    assert answer.status_code == 201, answer.text
    body: Json = answer.json()
    return body


async def upload_body(upload: Json, body: str) -> int:
    """Upload ``body`` as a client does; return the HTTP status."""
    async with httpx.AsyncClient(trust_env=False) as http:
        answer = await http.request(upload["method"], upload["url"], content=body.encode(), headers=upload["headers"])
    return answer.status_code


async def wait_for_end(user: User, document_id: str) -> Json:
    """Wait until the newest version is ready or has failed."""
    return await poll(
        lambda: user.read(f"/agents/assistant/documents/{document_id}"),
        lambda document: document["status"] in ("ready", "failed"),
    )


async def poll(read: Callable[[], Any], is_there: Callable[[Any], bool]) -> Any:
    async with asyncio.timeout(SECONDS):
        while True:
            result = await read()
            if is_there(result):
                return result
            await asyncio.sleep(0.2)
