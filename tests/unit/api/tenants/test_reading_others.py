"""Anybody who reads another user's conversation leaves a record; reading one's own leaves none."""

from __future__ import annotations

import re
import uuid

import pytest

from tests.unit.api.run_inputs import run_input
from tests.unit.api.served import Served, openapi

READ_ALL = "thread:read_all"


@pytest.fixture
async def served() -> Served:
    served = Served()
    await served.harness.say()
    served.harness.audit.records.clear()
    return served


def paths_below_a_thread() -> list[str]:
    """Every address of the API that reads one thread without a separate permission."""
    paths = openapi()["paths"]
    return sorted(
        path.removeprefix("/v1")
        for path, operations in paths.items()
        if "{thread_id}" in path and "get" in operations and not path.endswith(("/context", "/desk"))
    )


def test_there_are_addresses_to_try() -> None:
    assert {"/threads/{thread_id}", "/threads/{thread_id}/events"} <= set(paths_below_a_thread())


async def test_every_read_of_another_users_thread_is_audited_and_none_of_ones_own(served: Served) -> None:
    audit = served.harness.audit
    for path in [*paths_below_a_thread(), "/threads?parentThreadId={thread_id}"]:
        filled = re.sub(r"\{\w+\}", "x", path.replace("{thread_id}", served.harness.thread_id))
        await served.request("GET", filled, user="ada")
        assert audit.records == [], path
        await served.request("GET", filled, READ_ALL, user="auditor")
        [record] = audit.records
        assert (record.scope.user_id, record.action, record.outcome) == ("auditor", "thread.read", "allowed"), path
        assert (record.thread_id, record.detail) == (served.harness.thread_id, {"userId": "ada"}), path
        audit.records.clear()


async def test_listing_the_tenants_threads_is_audited(served: Served) -> None:
    await served.get("/threads", READ_ALL, user="auditor", scope="tenant")
    [record] = served.harness.audit.records
    assert (record.scope.user_id, record.action, record.outcome) == ("auditor", "thread.list", "allowed")


async def test_a_refused_read_is_audited_as_denied_only(served: Served) -> None:
    assert (await served.get(f"/threads/{served.harness.thread_id}", user="eve")).status_code == 404
    [record] = served.harness.audit.records
    assert (record.scope.user_id, record.outcome) == ("eve", "denied")


async def test_an_upload_shows_nothing_of_another_users_mapped_id() -> None:
    """The id is refused in use or not: it could be computed from the user's and the host's."""
    served = Served()
    used = (await served.post("/messages", {"sessionId": "order-1", "message": "Hello"})).json()["sessionId"]
    unused = str(uuid.uuid5(uuid.NAMESPACE_URL, "https://example.com"))
    file = {"name": "a.txt", "contentType": "text/plain", "size": 3}
    answers = [await served.post(f"/threads/{item}/files", file, user="eve") for item in (used, unused)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert len({answer.json()["detail"] for answer in answers}) == 1
    outcomes = [record.outcome for record in served.harness.audit.records if record.action == "file.upload"]
    assert outcomes == ["denied", "not_found"]


async def test_a_stream_of_another_users_answer_is_audited(served: Served) -> None:
    body = run_input(served, resume=[{"interruptId": "i-1", "status": "resolved", "payload": {"approved": True}}])
    await served.post("/runs", body, "tool:approve", READ_ALL, user="auditor")
    assert ("auditor", "thread.read", "allowed") in [
        (record.scope.user_id, record.action, record.outcome) for record in served.harness.audit.records
    ]
