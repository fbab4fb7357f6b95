"""Talk, close, start again, ask, look behind the answer, and forget: the running product with what it starts with."""

from __future__ import annotations

import asyncio
import gzip
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from boto3.dynamodb.types import Binary

from baton.adapters.dynamodb.bodies import unpack
from baton.domain.errors import StoreUnavailable
from baton_local.engines.clients import client
from tests.e2e.cloud import RunningCloud
from tests.e2e.sockets import PATIENCE_SECONDS, new_id
from tests.e2e.users import User
from tests.embedded_index import list_stored_files

SAID = (
    "My dog is called Rufus and he is afraid of thunderstorms.",
    "I am moving to Lisbon in March to work for a bakery.",
    "Write to me at ada@example.com if anything comes up.",
)
WORDS = ("rufus", "thunderstorm", "lisbon", "bakery", "ada@example.com")
STAY = ("AUDIT#", "REQUEST#")
"""Places that may go on naming ids: audit records, and the request itself."""


@pytest.fixture
async def ada(demo_cloud: RunningCloud) -> AsyncIterator[User]:
    """A user of a fresh tenant, who may look behind answers."""
    tenant, name = f"t-{uuid.uuid4().hex}", f"ada-{uuid.uuid4().hex}"
    async with httpx.AsyncClient(base_url=demo_cloud.url, timeout=PATIENCE_SECONDS, trust_env=False) as http_client:
        token = demo_cloud.token(tenant, name, "context:inspect")
        yield User(demo_cloud, http_client, tenant, name, token)


async def test_what_was_said_is_remembered_can_be_traced_and_is_forgotten(demo_cloud: RunningCloud, ada: User) -> None:
    old, new = new_id(), new_id()
    async with ada.connect() as socket:
        for text in SAID:
            await socket.say(text, thread_id=old)
    closed = await ada.post(f"/threads/{old}/close", {})
    episode = await wait_until_settled(ada, f"/episodes/{closed.json()['episodeId']}", "pending")
    assert (episode["status"], episode["missing"], episode["messageCount"]) == ("complete", [], 6)

    async with ada.connect() as socket:
        run = await socket.say("Where am I moving to?", thread_id=new)
    answer = "".join(event["delta"] for event in run if event["type"] == "TEXT_MESSAGE_CONTENT")
    day = episode["startedAt"][:10]
    assert "Lisbon" in answer
    assert day in answer

    record = await wait_until_settled(ada, f"/threads/{new}/turns/{run[0]['runId']}/context")
    [block] = [block for block in record["blocks"] if block["kind"] == "episodes"]
    [item, *_] = [item for item in block["items"] if item["included"] and "Lisbon" in item["text"]]
    assert 0 < item["score"] <= 1
    assert item["signals"]
    assert item["date"].startswith(day)
    assert 0 < item["tokens"] <= block["tokens"]
    [call] = record["calls"]
    assert call["messages"][-1] == {"role": "user", "content": "Where am I moving to?"}
    assert any("Lisbon" in str(message["content"]) and day in str(message["content"]) for message in call["messages"])

    ids = {ada.name, old, new, episode["id"], run[0]["runId"], *(message["id"] for message in episode["messages"])}
    assert len(traces(demo_cloud, [*WORDS, *ids])) >= 3, "the table, the bucket and the index have something to forget"
    request = await ada.request("DELETE", "/users/me/memory")
    done = await wait_until_settled(ada, f"/forget-requests/{request.json()['requestId']}", "running")
    assert (done["status"], done["residue"]) == ("completed", {})
    assert traces(demo_cloud, [*WORDS, *ids]) == {}
    assert (await ada.read("/threads"))["items"] == (await ada.read("/episodes"))["items"] == []
    results = await ada.post("/episodes/search", {"query": "Where am I moving to?"})
    assert results.json()["items"] == []


async def wait_until_settled(user: User, path: str, meanwhile: str = "") -> dict[str, Any]:
    """Wait for what comes a moment later, and as long as it has the status ``meanwhile``; return it."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            answer = await user.get(path)
            if answer.status_code != 404 and answer.raise_for_status().json().get("status") != meanwhile:
                results: dict[str, Any] = answer.json()
                return results
            await asyncio.sleep(0.2)


def traces(cloud: RunningCloud, expected: list[str]) -> dict[str, list[str]]:
    """Return the places of the strings in all that the deployment has stored: place -> strings.

    Of audit records and requests to forget only what was said counts, not ids.
    """
    results: dict[str, list[str]] = {}
    for item in cloud.list_all_items():
        text = json.dumps(item, default=_as_text).lower()
        may_name = item["SK"].startswith(STAY) or "~FORGET" in item["PK"]
        look(results, "table " + item["SK"].split("#")[0], text, WORDS if may_name else expected)
    s3 = client("s3", cloud.environment["AWS_ENDPOINT_URL_S3"])
    bucket = cloud.environment["BATON_BUCKET"]
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
        for delete_marker in page.get("DeleteMarkers", []):
            look(results, "delete markers", delete_marker["Key"], expected)
        for delete_marker in page.get("Versions", []):
            body = s3.get_object(Bucket=bucket, Key=delete_marker["Key"], VersionId=delete_marker["VersionId"])[
                "Body"
            ].read()
            look(results, "objects", delete_marker["Key"] + _as_text(body), expected)
    for name, body in list_stored_files(s3, cloud.environment["BATON_SEARCH_BUCKET"]).items():
        look(results, "index", name + _as_text(body), expected)
    s3.close()
    return results


def look(results: dict[str, list[str]], location: str, text: str, expected: Any) -> None:
    """Note what of ``wanted`` stands in the text."""
    there = [item for item in expected if item.lower() in text.lower()]
    if there:
        results.setdefault(location, []).extend(there)


def _as_text(value: Any) -> str:
    """Whatever is stored, readable: packed values, compressed records and numbers, too."""
    if not isinstance(value, bytes | Binary):
        return str(value)
    data = bytes(value)
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    try:
        return str(unpack(data))
    except (ValueError, StoreUnavailable):
        return data.decode("latin-1")
