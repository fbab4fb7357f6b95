"""More sessions and documents come at once than there are places for: all are dealt with."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from typing import Any

import httpx
import pytest

from baton_local.environment import RUNS_AT_ONCE
from tests.e2e.cloud import RunningCloud
from tests.e2e.sockets import PATIENCE_SECONDS

pytestmark = pytest.mark.nightly

COUNT = 2 * RUNS_AT_ONCE + 1


async def test_sessions_and_documents_that_come_at_once_wait_for_each_other(demo_cloud: RunningCloud) -> None:
    token = demo_cloud.token(f"t-{uuid.uuid4().hex}", "ada", "document:write")
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(
        base_url=f"{demo_cloud.url}/v1", headers=headers, timeout=PATIENCE_SECONDS, trust_env=False
    ) as http:
        places = await asyncio.gather(
            *(_import_session(http, number) for number in range(COUNT)),
            *(_upload(http, number) for number in range(COUNT)),
        )
        documents = await asyncio.gather(*(_wait_until_settled(http, address) for address in places))
    assert [answer["status"] for answer in documents] == ["complete"] * COUNT + ["ready"] * COUNT


async def _import_session(http: httpx.AsyncClient, number: int) -> str:
    times = ("2026-03-01T09:00:00Z", "2026-03-01T09:00:05Z")
    messages = [
        {"id": f"m{index}", "role": role, "content": f"Boat {number} is in the harbour.", "timestamp": at}
        for index, (role, at) in enumerate(zip(("user", "assistant"), times, strict=True))
    ]
    answer = await http.post("/episodes/import", json={"sessionId": f"s-{number}", "messages": messages})
    return f"/episodes/{answer.raise_for_status().json()['episodeId']}"


async def _upload(http: httpx.AsyncClient, number: int) -> str:
    content = f"The harbour has {number} boats.".encode()
    described = {
        "name": f"boats-{number}.txt",
        "contentType": "text/plain",
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    document = (await http.post("/agents/knowledge/documents", json=described)).raise_for_status().json()
    upload = document["upload"]
    async with httpx.AsyncClient(timeout=PATIENCE_SECONDS, trust_env=False) as plain:
        stored = await plain.request(upload["method"], upload["url"], headers=upload["headers"], content=content)
    stored.raise_for_status()
    return f"/agents/knowledge/documents/{document['document']['id']}"


async def _wait_until_settled(http: httpx.AsyncClient, address: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            answer = await http.get(address)
            document: dict[str, Any] = answer.json()
            if answer.status_code == 200 and document["status"] in ("complete", "ready", "failed"):
                return document
            await asyncio.sleep(0.5)
