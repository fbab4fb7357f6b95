"""Branches over HTTP: regenerate, edit, list, select."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any

from tests.fakes.chat_model import Answer
from tests.harness.wiki import delete, run_until_interrupt, wiki
from tests.unit.api.served import Served

THREAD = "booking-4711"


async def hold_conversation(*answers: str) -> Served:
    served = Served()
    served.harness.model.script("One.", "Two.", *answers)
    await say(served, "m-1", "First")
    await say(served, "m-2", "Second")
    return served


async def say(served: Served, message_id: str, message: str | None, **fields: Any) -> Any:
    body = {"sessionId": THREAD, "messageId": message_id, "message": message, **fields}
    return (await served.post("/messages", body)).raise_for_status().json()


def run_input(messages: list[dict[str, Any]], **props: Any) -> dict[str, Any]:
    body = {"threadId": THREAD, "runId": str(uuid.uuid4()), "messages": messages, "forwardedProps": props}
    return {**body, "state": {}, "tools": [], "context": []}


async def run(served: Served, body: dict[str, Any]) -> list[dict[str, Any]]:
    answer = (await served.post("/runs", body)).raise_for_status()
    return [json.loads(line.removeprefix("data: ")) for line in answer.text.split("\n") if line.startswith("data: ")]


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


async def list_shown(served: Served, **params: Any) -> list[str]:
    items, _ = await served.items(f"/threads/{THREAD}/messages", **params)
    return [message["content"] for message in items]


def user(message_id: str, content: str) -> dict[str, Any]:
    return {"id": message_id, "role": "user", "content": content}


async def test_a_message_is_answered_again_without_being_sent_again() -> None:
    served = await hold_conversation("Another two.")
    answer = await say(served, "w-1", None, branch={"from": "m-2", "regenerate": True})
    question, second_answer = answer["messages"]
    assert (question["id"], question["content"], second_answer["content"]) == ("m-2", "Second", "Another two.")
    assert await say(served, "w-1", None, branch={"from": "m-2", "regenerate": True}) == answer
    assert await list_shown(served) == ["First", "One.", "Second", "Another two."]


async def test_an_ag_ui_client_regenerates_by_a_property_with_its_run_as_the_key() -> None:
    served = await hold_conversation("Another two.", "A third two.")
    history = [user("m-1", "First"), {"id": "a", "role": "assistant", "content": "One."}, user("m-2", "Second")]
    body = run_input(history, branch={"from": "m-2", "regenerate": True})
    first = await run(served, body)
    assert text_of(first) == "Another two."
    assert await run(served, body) == first
    retry = run_input(history, runConfig={"branch": {"from": "m-2", "regenerate": True, "messageId": "w-9"}})
    assert text_of(await run(served, retry)) == "A third two."
    assert text_of(await run(served, retry | {"runId": "another"})) == "A third two."


async def test_an_ag_ui_client_edits_by_a_property() -> None:
    served = await hold_conversation("Anew.")
    events = await run(served, run_input([user("m-3", "First, better")], branch={"from": "m-1"}))
    assert text_of(events) == "Anew."
    assert await list_shown(served) == ["First, better", "Anew."]


async def test_inputs_that_look_like_a_regenerate_or_an_edit_are_none() -> None:
    served = await hold_conversation("Three.", "Four.")
    assert text_of(await run(served, run_input([user("m-1", "First")]))) == "One."
    assert text_of(await run(served, run_input([user("m-2", "Second")]))) == "Two."
    stale = [user("m-1", "First"), {"id": "a", "role": "assistant", "content": "One."}, user("m-3", "Third")]
    assert text_of(await run(served, run_input(stale))) == "Three."
    assert await list_shown(served) == ["First", "One.", "Second", "Two.", "Third", "Three."]


async def test_branches_are_listed_with_what_they_begin_with() -> None:
    served = await hold_conversation("Another two.", "Anew.")
    assert await served.items(f"/threads/{THREAD}/branches") == ([], None)
    await say(served, "w-1", None, branch={"from": "m-2", "regenerate": True})
    await say(served, "m-3", "Second, better", branch={"from": "m-2"})
    items, cursor = await served.items(f"/threads/{THREAD}/branches")
    reported = ("branchId", "messageId", "regenerate", "selected", "text")
    assert [tuple(item[name] for name in reported) for item in items] == [
        ("b2", "m-2", False, False, "Second"),
        ("b4", "m-2", True, False, "Second"),
        ("b6", "m-3", False, True, "Second, better"),
    ]
    [after] = {item["after"] for item in items}
    assert (await served.items(f"/threads/{THREAD}/messages"))[0][1]["id"] == after
    assert cursor is None
    first, cursor = await served.items(f"/threads/{THREAD}/branches", limit=2)
    rest, end = await served.items(f"/threads/{THREAD}/branches", limit=2, cursor=cursor)
    assert ([*first, *rest], end) == (items, None)


async def test_another_branch_can_be_read_and_selected() -> None:
    served = await hold_conversation("Another two.", "Three.")
    await say(served, "w-1", None, branch={"from": "m-2", "regenerate": True})
    assert await list_shown(served, branch="b2") == ["First", "One.", "Second", "Two."]
    assert (await list_shown(served))[-1] == "Another two."
    answer = await served.post(f"/threads/{THREAD}/branches/b2/select", None)
    thread = (await served.get(f"/threads/{THREAD}")).json()
    expected = {"threadId": thread["id"], "branchId": "b2", "lastSeq": thread["lastSeq"]}
    assert (answer.status_code, answer.json()) == (200, expected)
    assert (await list_shown(served))[-1] == "Two."


async def test_refusals_are_typed() -> None:
    served = await hold_conversation()
    select = f"/threads/{THREAD}/branches/%s/select"
    for branch_id in ("b2", "b9", "x", "b-1"):
        answer = await served.post(select % branch_id, None)
        assert (answer.status_code, answer.json()["code"]) == (404, "branch_unavailable")
    answer = await served.get(f"/threads/{THREAD}/messages", branch="b2")
    assert answer.json()["code"] == "branch_unavailable"
    for user_id in ("bob",):
        answer = await served.post(select % "b2", None, user=user_id)
        assert answer.json()["code"] == "thread_unavailable"
    for wrong in ({}, {"from": 7}, {"from": ""}, {"from": "m-1", "regenerate": "yes"}, {"from": "x" * 129}):
        body = {"sessionId": THREAD, "messageId": "w-1", "message": "Hello", "branch": wrong}
        answer = await served.post("/messages", body)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    answer = await served.post("/runs", run_input([user("m-3", "x")], branch="m-1"))
    assert answer.json()["code"] == "invalid_request"
    answer = await served.post("/runs", run_input([user("m-3", "x")], branch={"from": "m-7"}))
    assert (answer.status_code, answer.json()["code"]) == (404, "branch_unavailable")


async def test_no_branch_is_selected_while_an_approval_waits() -> None:
    harness = wiki()
    served = Served(harness)
    await run_until_interrupt(harness)
    harness.model.script("Instead.")
    thread_id = harness.thread_id
    # A message takes the place of the answers, and so does another one in a branch.
    await harness.say("m9", "Instead", branch={"from": "m1"})
    harness.model.script(Answer.calling(delete("home"), text="May I?"))
    await harness.say("m10", "Delete it")
    answer = await served.post(f"/threads/{thread_id}/branches/b0/select", None)
    assert (answer.status_code, answer.json()["code"]) == (409, "approvals_waiting")


async def test_an_export_has_all_branches_and_marks_those_that_are_not_selected() -> None:
    served = await hold_conversation("Another two.")
    await say(served, "w-1", None, branch={"from": "m-2", "regenerate": True})
    lines = [json.loads(line) for line in (await served.get("/users/me/export")).text.splitlines()]
    messages = [(line["content"], line.get("selected")) for line in lines if line.get("type") == "message"]
    assert messages == [
        ("First", None),
        ("One.", None),
        ("Second", False),
        ("Two.", False),
        ("Second", None),
        ("Another two.", None),
    ]
    [session] = [line for line in lines if "sessionId" in line]
    assert [message["content"] for message in session["messages"]] == ["First", "One.", "Second", "Another two."]


async def test_a_turn_of_a_branch_is_inspected_with_what_its_prompt_held() -> None:
    served = await hold_conversation("Anew.")
    answer = await say(served, "m-3", "Second, better", branch={"from": "m-2"})
    path = f"/threads/{THREAD}/turns/{answer['runId']}/context"
    context = (await served.get(path, "context:inspect")).raise_for_status().json()
    request = [message["content"] for message in context["calls"][0]["messages"] if message["role"] != "system"]
    assert request == ["First", "One.", "Second, better"]
    turns, _ = await served.items(f"/threads/{THREAD}/turns")
    assert [turn["messageId"] for turn in turns] == ["m-3", "m-1"]


async def test_a_fork_begins_with_the_selected_branch() -> None:
    served = await hold_conversation("Another two.")
    await say(served, "w-1", None, branch={"from": "m-2", "regenerate": True})
    child = (await served.post(f"/threads/{THREAD}/fork", {"agentId": "assistant"})).json()
    items, _ = await served.items(f"/threads/{child['id']}/messages")
    assert [message["content"] for message in items] == ["First", "One.", "Second", "Another two."]


async def test_two_regenerates_and_a_selection_at_once_leave_one_conversation() -> None:
    served = await hold_conversation()
    served.harness.model.otherwise = Answer(("Again.",))
    branch_config = {"branch": {"from": "m-2", "regenerate": True}}
    await asyncio.gather(
        say(served, "w-1", None, **branch_config),
        say(served, "w-2", None, **branch_config),
        served.post(f"/threads/{THREAD}/branches/b2/select", None),
    )
    items, _ = await served.items(f"/threads/{THREAD}/branches")
    assert [item["branchId"] for item in items] == ["b2", "b4", "b6"]
    assert sum(item["selected"] for item in items) == 1
    assert (await list_shown(served))[:3] == ["First", "One.", "Second"]
