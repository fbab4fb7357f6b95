"""Uploads: announced, put, sent in a message, seen by the model, given back."""

from __future__ import annotations

import base64
import uuid
from typing import Any

import httpx
import pytest

from tests.e2e.ag_ui_rules import check_run
from tests.e2e.cloud import RunningCloud
from tests.e2e.fixtures import NewUser
from tests.e2e.problems import check_problem
from tests.e2e.sockets import SocketClient, new_id
from tests.e2e.uploads import upload
from tests.e2e.users import User
from tests.fault_model import FaultModel

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def test_an_uploaded_image_reaches_the_model_and_can_be_downloaded(
    alice: User, socket: SocketClient, model: FaultModel
) -> None:
    thread_id = new_id()
    part = await upload(alice, thread_id, "pixel.png", "image/png", PIXEL)
    assert (part["type"], part["source"]["type"], part["source"]["mimeType"]) == ("image", "file", "image/png")
    assert part["metadata"] == {"name": "pixel.png", "size": len(PIXEL)}
    parts = [{"type": "text", "text": "What is this?"}, part]
    run = await socket.say(parts, thread_id=thread_id)
    assert run[0]["input"]["messages"][0]["content"] == parts
    sent = model.requests[0].prompts[-1][1]
    assert sent[1]["image_url"]["url"] == f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"
    [text, image] = (await alice.messages(thread_id))[0]["content"]
    assert text == parts[0]
    url = image["metadata"].pop("downloadUrl")
    assert image == part
    async with httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(url)).content == PIXEL


async def test_an_uploaded_document_is_read_by_the_model(alice: User, model: FaultModel) -> None:
    thread_id = new_id()
    part = await upload(alice, thread_id, "Größe.md", "text/markdown", "# Größe\n\nZwölf Ellen.".encode())
    assert part["type"] == "document"
    await alice.ask([{"type": "text", "text": "How big?"}, part], sessionId=thread_id)
    assert "Zwölf Ellen." in str(model.requests[0].prompts[-1][1])
    await alice.ask("Say it again", sessionId=thread_id)
    assert "Zwölf Ellen." in str(model.requests[1].prompts)


async def test_a_file_can_be_announced_for_a_hosts_own_id(alice: User, model: FaultModel) -> None:
    part = await upload(alice, "booking-4711", "terms.txt", "text/plain", b"No refunds.")
    await alice.ask([part], sessionId="booking-4711")
    assert "No refunds." in str(model.requests[0].prompts[-1][1])


async def test_a_file_that_never_came_does_not_stop_the_conversation(alice: User, model: FaultModel) -> None:
    thread_id = new_id()
    body = {"name": "lost.txt", "contentType": "text/plain", "size": 3}
    part = (await alice.post(f"/threads/{thread_id}/files", body)).json()["part"]
    await alice.ask([{"type": "text", "text": "Read this"}, part], sessionId=thread_id)
    assert "has not been uploaded" in str(model.requests[0].prompts[-1][1])
    [_, visible] = (await alice.messages(thread_id))[0]["content"]
    assert visible["source"] == part["source"]
    assert visible["metadata"]["downloadUrl"] is None


async def test_a_file_of_another_thread_is_not_given_away(alice: User, new_user: NewUser, model: FaultModel) -> None:
    mine, theirs = new_id(), new_id()
    bob = new_user("bob", tenant=f"t-{uuid.uuid4().hex}")
    part = await upload(bob, theirs, "secret.txt", "text/plain", b"The secret.")
    await alice.ask([part], sessionId=mine)
    assert "The secret." not in str(model.requests[0].prompts)
    assert (await alice.messages(mine))[0]["content"][0]["metadata"]["downloadUrl"] is None


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text", "text": "Hello", "source": "nowhere"},
        {"type": "text", "text": "Hello", "source": None},
        {"type": "text", "text": "Hello", "source": {"type": "file", "value": "x"}},
        {"type": "text", "text": "Hello", "metadata": {"a": 1}},
        {"type": "text", "text": "Hello", "more": [1, {"b": None}]},
    ],
    ids=str,
)
async def test_unknown_fields_of_parts_are_kept_and_do_no_harm(
    alice: User, socket: SocketClient, part: dict[str, Any]
) -> None:
    thread_id = new_id()
    run = await socket.say([part], thread_id=thread_id)
    check_run(run)
    [visible] = (await alice.messages(thread_id))[0]["content"]
    assert (visible["type"], visible["text"]) == ("text", "Hello")


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"name": ""}, 422, "invalid_request"),
        ({"name": "x" * 256}, 422, "invalid_request"),
        ({"name": "a\nb"}, 422, "invalid_request"),
        ({"name": None}, 422, "invalid_request"),
        ({"contentType": "nonsense"}, 422, "invalid_request"),
        ({"size": 0}, 422, "invalid_request"),
        ({"size": -1}, 422, "invalid_request"),
        ({"size": "many"}, 422, "invalid_request"),
        ({"size": 20 * 1024 * 1024 + 1}, 413, "message_too_large"),
    ],
    ids=str,
)
async def test_an_upload_that_is_not_taken_is_a_problem(
    alice: User, cloud: RunningCloud, tenant: str, changes: dict[str, Any], status: int, code: str
) -> None:
    body = {"name": "a.txt", "contentType": "text/plain", "size": 1} | changes
    check_problem(await alice.post(f"/threads/{new_id()}/files", body), status, code)
    assert cloud.items(tenant) == []


async def test_nothing_is_uploaded_to_a_foreign_thread(
    alice: User, new_user: NewUser, cloud: RunningCloud, tenant: str
) -> None:
    body = {"name": "a.txt", "contentType": "text/plain", "size": 1}
    bobs = (await new_user("bob").ask("Mine"))["sessionId"]
    elsewhere = new_user("carol", tenant=f"t-{uuid.uuid4().hex}")
    theirs = (await elsewhere.ask("Ours", sessionId=new_id()))["sessionId"]
    for thread_id in (bobs, theirs):
        check_problem(await alice.post(f"/threads/{thread_id}/files", body), 404, "thread_unavailable")
    assert [item["action"] for item in cloud.audits(tenant)] == ["file.upload", "file.upload"]
