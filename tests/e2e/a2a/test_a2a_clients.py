"""Conversations over A2A with the reference clients of both lines."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.e2e.a2a.clients import A2AClient, ClientFailed
from tests.e2e.fixtures import NewUser
from tests.e2e.users import Json, User
from tests.fault_model import FaultModel, answers, calls_tools
from tests.forked import ForkedProcess

pytestmark = pytest.mark.nightly

CONNECTING = "Connecting you with Skill Creation Assistant..."


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "blocking"])
async def test_a_conversation_of_several_turns(
    client: A2AClient, alice: User, model: FaultModel, *, streaming: bool
) -> None:
    model.script(answers("One two three."), answers("Four."))
    events = await client.all_of(alice, "say", text="Count", streaming=streaming)
    first = events[-1]
    assert events[0]["kind"] == "task"
    assert (first["state"], first["artifacts"], first["text"]) == ("completed", ["One two three."], "One two three.")
    with pytest.raises(ClientFailed):
        await client.last_of(alice, "say", text="On", task_id=first["taskId"], streaming=streaming)
    second = await client.last_of(alice, "say", text="On", context_id=first["contextId"], streaming=streaming)
    assert (second["taskId"] != first["taskId"], second["contextId"]) == (True, first["contextId"])
    whole = await client.last_of(alice, "get", task_id=second["taskId"])
    assert (whole["state"], whole["history"], whole["artifacts"]) == ("completed", ["On", "Four."], ["Four."])
    messages = await alice.messages(first["contextId"])
    assert [message["content"] for message in messages] == ["Count", "One two three.", "On", "Four."]


async def test_a_handoff_shows_and_the_specialist_goes_on(
    client: A2AClient, new_user: NewUser, model: FaultModel
) -> None:
    ada = new_user("ada", "skill:create")
    model.script(answers("A summary."), answers("What should it do?"), answers("And when?"))
    events = await client.all_of(ada, "say", text="I want to create a skill that counts")
    assert CONNECTING in [event["text"] for event in events if event["state"] == "working"]
    task = events[-1]
    assert task["state"] == "input-required"
    await client.last_of(ada, "say", text="It counts.", task_id=task["taskId"])
    thread = await ada.read(f"/threads/{task['contextId']}")
    assert thread["state"]["activeAgent"]["id"] == "skill-creation-agent"


async def test_an_approval_is_asked_and_given(client: A2AClient, alice: User, model: FaultModel) -> None:
    model.script(calls_tools(("delete_page", {"page": "home"}), text="May I?"), answers("That did not work."))
    url = f"{alice.cloud.url}/a2a/careful"
    request = await client.last_of(alice, "say", text="Delete it", url=url)
    assert request["state"] == "input-required"
    [data] = request["data"]
    [interrupt] = data["interrupts"]
    assert interrupt["metadata"]["toolName"] == "delete_page"
    assert json.loads(interrupt["metadata"]["arguments"]) == {"page": "home"}
    answer = {"approved": True, "interruptId": interrupt["id"]}
    after = await client.last_of(alice, "say", data=answer, task_id=request["taskId"], url=url)
    assert (after["taskId"], after["state"]) == (request["taskId"], "completed")
    assert after["text"].endswith("That did not work.")  # after the sentence about tools that fail
    [call] = (await alice.read(f"/threads/{request['contextId']}/tool-calls"))["items"]
    assert call["toolName"] == "delete_page"


async def test_a_task_is_cancelled_in_the_middle_of_its_answer(
    client: A2AClient, alice: User, model: FaultModel
) -> None:
    model.script(answers(" ".join(["word"] * 400), delay=0.05))
    notifications: list[Json] = []
    async for event in client.events(alice, "say", text="Go on"):
        is_first = event["kind"] == "artifact-update" and not any(e["kind"] == "artifact-update" for e in notifications)
        notifications.append(event)
        if is_first:
            cancelled = await client.last_of(alice, "cancel", task_id=event["taskId"])
            assert cancelled["state"] == "canceled"
    assert notifications[-1]["state"] == "canceled"
    with pytest.raises(ClientFailed):
        await client.last_of(alice, "cancel", task_id=notifications[0]["taskId"])
    with pytest.raises(ClientFailed):
        await client.last_of(alice, "say", text="More", task_id=notifications[0]["taskId"])


async def test_the_task_of_another_tenant_is_not_found(client: A2AClient, alice: User, new_user: NewUser) -> None:
    task = await client.last_of(alice, "say", text="Hello")
    eve = new_user("alice", tenant="eves-own")
    for do in ("get", "cancel", "resume"):
        with pytest.raises(ClientFailed, match=r"not found|-32001|TaskNotFound"):
            await client.last_of(eve, do, task_id=task["taskId"])


async def test_the_extended_card_shows_what_the_caller_may_see(client: A2AClient, new_user: NewUser) -> None:
    card = await client.last_of(new_user("ada", "skill:create"), "card")
    assert "skill-creation-agent" in card["skills"]


async def test_a_stream_goes_on_when_its_server_is_killed(
    client: A2AClient, alice: User, model: FaultModel, killable_streams: tuple[str, ForkedProcess]
) -> None:
    url, process = killable_streams
    model.script(answers(" ".join(["lost"] * 200), delay=0.1), answers("Found again."))
    notifications: list[Json] = []
    with contextlib.suppress(ClientFailed):  # some clients take a broken stream for its end
        async for event in client.events(alice, "say", text="Tell me", url=url):
            notifications.append(event)
            if event["kind"] == "artifact-update":
                process.kill()
    assert notifications[-1]["state"] == "working"
    task_id = notifications[-1]["taskId"]
    events = await client.all_of(alice, "resume", task_id=task_id)
    assert events[0]["kind"] == "task"
    last = events[-1]
    assert (last["state"], last["text"]) == ("completed", "Found again.")
    assert [text for text in last["artifacts"] if text] == ["Found again."]
    assert (await client.last_of(alice, "get", task_id=task_id))["history"] == ["Tell me", "Found again."]


async def test_a_stream_is_found_again_while_the_answer_goes_on(
    client: A2AClient, alice: User, model: FaultModel, http_client: httpx.AsyncClient
) -> None:
    words = [f"word{number}" for number in range(40)]
    model.script(answers(" ".join(words), delay=0.05))
    events = client.events(alice, "say", text="Tell me")
    first = await anext(events)
    resumed, rest = await asyncio.gather(client.all_of(alice, "resume", task_id=first["taskId"]), _all(events))
    assert resumed[-1]["artifacts"] == rest[-1]["artifacts"] == [" ".join(words)]
    assert resumed[-1]["state"] == rest[-1]["state"] == "completed"


async def _all(events: AsyncIterator[Json]) -> list[Json]:
    return [event async for event in events]
