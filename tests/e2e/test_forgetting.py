"""Forgetting and export in the running product: the state machine, the roles and the stores are the real ones."""

from __future__ import annotations

import asyncio
import json
import secrets
from typing import Any

import httpx

from baton_local.engines.clients import client
from tests.e2e.cloud import RunningCloud
from tests.e2e.fixtures import NewUser
from tests.e2e.sockets import new_id
from tests.e2e.users import Json, User

SECONDS = 60


def objects_of(cloud: RunningCloud, tenant: str) -> list[str]:
    """The keys of all versions of the tenant's objects."""
    s3 = client("s3", cloud.environment["AWS_ENDPOINT_URL_S3"])
    object_versions = s3.list_object_versions(Bucket=cloud.environment["BATON_BUCKET"], Prefix=f"{tenant}/")
    s3.close()
    return [
        version["Key"] for version in [*object_versions.get("Versions", []), *object_versions.get("DeleteMarkers", [])]
    ]


async def wait_until_completed(user: User, request_id: str) -> dict[str, Any]:
    """Wait for the request and return it."""
    async with asyncio.timeout(SECONDS):
        while True:
            request: dict[str, Any] = await user.read(f"/forget-requests/{request_id}")
            if request["status"] != "running":
                return request
            await asyncio.sleep(0.2)


async def test_a_forgotten_thread_is_gone_and_its_id_unused(cloud: RunningCloud, alice: User, tenant: str) -> None:
    thread_id = new_id()
    await alice.ask("My secret is hunter2. " + secrets.token_hex(320_000), sessionId=thread_id)
    assert objects_of(cloud, tenant) != []
    answer = await alice.request("DELETE", f"/threads/{thread_id}")
    assert answer.status_code == 202
    done = await wait_until_completed(alice, answer.json()["requestId"])
    assert (done["status"], done["residue"]) == ("completed", {})
    assert done["counts"]["messages"] == 2
    assert objects_of(cloud, tenant) == []
    remaining = [item for item in cloud.items(tenant) if thread_id in json.dumps(item, default=repr)]
    assert {item["SK"].split("#")[0] for item in remaining} <= {"AUDIT", "REQUEST", "THREAD"}
    assert "THREAD" not in {item["SK"] for item in remaining}
    assert (await alice.request("GET", f"/threads/{thread_id}")).status_code == 404
    again = await alice.ask("Hello", sessionId=thread_id)
    assert len(again["messages"]) == 2


def list_lasting_items(cloud: RunningCloud, tenant: str) -> list[Json]:
    """Return a tenant's items without its rate counts, which name no user and expire within days."""
    items = [item for item in cloud.list_data(tenant) if item["SK"] != "THREAD"]
    return [item for item in items if not any(name in item["PK"] for name in ("~FORGET", "~ACTIVITY"))]


async def test_a_forgotten_user_is_gone_and_others_stay(
    cloud: RunningCloud, alice: User, new_user: NewUser, tenant: str
) -> None:
    bob = new_user("bob")
    await bob.ask("I stay")
    stays = list_lasting_items(cloud, tenant)
    for number in range(3):
        await alice.ask(f"Forget {number}")
    answer = await alice.request("DELETE", "/users/me/memory")
    done = await wait_until_completed(alice, answer.json()["requestId"])
    assert (done["status"], done["counts"]["threads"], done["counts"]["messages"]) == ("completed", 3, 6)
    assert (await alice.read("/threads"))["items"] == []
    assert len((await bob.read("/threads"))["items"]) == 1
    assert list_lasting_items(cloud, tenant) == stays


async def test_an_export_streams_what_is_stored(alice: User, http_client: httpx.AsyncClient) -> None:
    thread_id = (await alice.ask("Take me along"))["sessionId"]
    answer = await alice.request("GET", "/users/me/export")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line["id"] for line in lines if line.get("type") == "thread"] == [thread_id]
    [session] = [line for line in lines if "sessionId" in line]
    assert session["messages"][0]["content"] == "Take me along"
    assert lines[-1] == {"type": "end"}


async def test_retention_is_enforced_by_the_sweeper(cloud: RunningCloud, alice: User, new_user: NewUser) -> None:
    boss = new_user("boss", "user:manage", "audit:read")
    await alice.ask("I am recent")
    answer = await boss.request("PUT", "/retention", body={"threads": 1})
    assert answer.json()["threads"] == 1
    cloud.sweep()
    async with asyncio.timeout(SECONDS):
        while True:
            [*results] = (await boss.read("/audit", action="retention.enforce"))["items"]
            if results:
                break
            await asyncio.sleep(0.2)
    assert results[0]["outcome"] == "completed"
    assert len((await alice.read("/threads"))["items"]) == 1
