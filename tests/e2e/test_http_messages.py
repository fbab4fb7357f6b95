"""POST /v1/messages: one message, one answer."""

from __future__ import annotations

import asyncio
import uuid

import pytest

from tests.e2e.cloud import RunningCloud
from tests.e2e.fixtures import NewUser
from tests.e2e.gates import Gate
from tests.e2e.problems import check_problem
from tests.e2e.sockets import new_id
from tests.e2e.users import User
from tests.fault_model import FaultModel, answers, chunk, sends

METADATA = {
    "ordinal",
    "runId",
    "status",
    "agentId",
    "agentName",
    "isHandoffSummary",
    "isToolResult",
    "toolName",
    "timestamp",
    "source",
    "tokens",
    "sources",
    "finishReason",
}


async def test_the_answer_is_the_turn(alice: User, model: FaultModel) -> None:
    thread_id = new_id()
    model.script(answers("Hello there."))
    answer = await alice.ask("Hi", sessionId=thread_id, messageId="m-1")
    assert answer.keys() == {"sessionId", "runId", "messages", "state", "usage", "outcome"}
    assert answer["sessionId"] == thread_id
    assert answer["outcome"] == {"type": "success"}
    assert answer["usage"].keys() == {"inputTokens", "outputTokens", "totalTokens"}
    assert answer["usage"]["totalTokens"] == answer["usage"]["inputTokens"] + answer["usage"]["outputTokens"] > 0
    assert answer["state"]["activeAgent"]["id"] == "assistant"
    assert answer["state"].keys() == {"activeAgent", "desk", "workflow", "resumable", "status"}
    question, messages = answer["messages"]
    assert (question["id"], question["role"], question["content"]) == ("m-1", "user", "Hi")
    assert (messages["role"], messages["content"], messages["name"]) == ("assistant", "Hello there.", "Assistant")
    for ordinal, message in enumerate(answer["messages"]):
        metadata = message["metadata"]
        assert metadata.keys() == METADATA
        assert (metadata["ordinal"], metadata["runId"]) == (ordinal, answer["runId"])
        assert metadata["status"] == "complete"
        assert metadata["timestamp"].endswith("Z")
        assert metadata["tokens"] > 0
        assert metadata["sources"] == []
    assert (question["metadata"]["agentId"], messages["metadata"]["agentId"]) == (None, "assistant")
    assert await alice.messages(thread_id) == answer["messages"]


async def test_without_a_session_a_conversation_begins(alice: User) -> None:
    first, second = await alice.ask("Hello"), await alice.ask("Hello")
    assert first["sessionId"] != second["sessionId"]
    assert str(uuid.UUID(first["sessionId"])) == first["sessionId"]
    again = await alice.ask("And again", sessionId=first["sessionId"])
    assert again["sessionId"] == first["sessionId"]
    assert [message["metadata"]["ordinal"] for message in again["messages"]] == [2, 3]


@pytest.mark.nightly
async def test_null_is_the_same_as_left_out(alice: User) -> None:
    answer = await alice.ask("Hello", sessionId=None, messageId=None, agentId=None)
    assert answer["messages"][0]["id"]


async def test_the_agent_is_chosen_by_the_first_message(alice: User, model: FaultModel) -> None:
    answer = await alice.ask("Hello", agentId="impatient")
    assert answer["state"]["activeAgent"]["id"] == "impatient"
    assert answer["messages"][1]["name"] == "Impatient"
    assert "You are Impatient." in model.requests[0].prompts[0][1]
    later = await alice.ask("Hello", sessionId=answer["sessionId"])
    assert later["state"]["activeAgent"]["id"] == "impatient"


async def test_a_repeated_message_gets_the_same_body(
    alice: User, model: FaultModel, cloud: RunningCloud, tenant: str
) -> None:
    body = {"sessionId": new_id(), "messageId": "m-1"}
    first = await alice.ask("Hello", **body)
    await alice.ask("In between", sessionId=body["sessionId"])
    assert await alice.ask("Hello", **body) == first
    assert len(model.requests) == 2
    assert len(cloud.turns(tenant)) == 2


async def test_a_message_repeated_while_it_is_answered_gets_the_same_body(alice: User, model: FaultModel) -> None:
    gate = Gate()
    model.script(gate.behaviour)
    body = {"sessionId": new_id(), "messageId": "m-1"}
    asking = asyncio.ensure_future(alice.ask("Hello", **body))
    await model.wait_until(lambda seen: len(seen.requests) == 1)
    repeating = asyncio.ensure_future(alice.ask("Hello", **body))
    while (await alice.read(f"/threads/{body['sessionId']}"))["run"] is None:
        pass
    gate.open()
    assert await asking == await repeating
    assert len(model.requests) == 1


async def test_a_turn_goes_on_when_its_caller_leaves(alice: User, model: FaultModel) -> None:
    gate = Gate()
    model.script(gate.behaviour)
    body = {"sessionId": new_id(), "messageId": "m-1"}
    asking = asyncio.ensure_future(alice.ask("Hello", **body))
    await model.wait_until(lambda seen: len(seen.requests) == 1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    gate.open()
    answer = await alice.ask("Hello", **body)
    assert answer["messages"][1]["content"] == gate.text
    assert (len(model.requests), model.hangups) == (1, 0)


async def test_the_same_message_from_many_at_once_is_answered_once(
    alice: User, model: FaultModel, cloud: RunningCloud, tenant: str
) -> None:
    body = {"sessionId": new_id(), "messageId": "m-1"}
    bodies = await asyncio.gather(*(alice.ask("Hello", **body) for _ in range(5)))
    assert all(other == bodies[0] for other in bodies)
    assert len(model.requests) == 1
    assert len(cloud.turns(tenant)) == 1


async def test_messages_sent_at_once_are_answered_one_after_the_other(alice: User) -> None:
    thread_id = new_id()
    bodies = await asyncio.gather(*(alice.ask(f"Message {n}", sessionId=thread_id) for n in range(4)))
    ordinals = sorted(message["metadata"]["ordinal"] for body in bodies for message in body["messages"])
    assert ordinals == list(range(8))
    messages = [message["content"] for message in await alice.messages(thread_id)]
    assert messages[::2] == messages[1::2]
    assert sorted(messages[::2]) == [f"Message {n}" for n in range(4)]


async def test_a_message_id_is_not_used_for_other_content(alice: User, cloud: RunningCloud, tenant: str) -> None:
    thread_id = new_id()
    await alice.ask("Hello", sessionId=thread_id, messageId="m-1")
    before = cloud.turns(tenant)
    refused = await alice.post("/messages", {"message": "Other", "sessionId": thread_id, "messageId": "m-1"})
    check_problem(refused, 409, "message_id_conflict")
    assert cloud.turns(tenant) == before
    assert len(await alice.messages(thread_id)) == 2
    other_thread = await alice.ask("Other", sessionId=new_id(), messageId="m-1")
    assert other_thread["messages"][0]["id"] == "m-1"


@pytest.mark.nightly
async def test_the_same_content_in_parts_and_in_another_order_of_keys_is_no_conflict(alice: User) -> None:
    thread_id = new_id()
    url = "https://example.com/a.png"
    content = [{"type": "text", "text": "Hi"}, {"type": "image", "source": {"type": "url", "value": url}}]
    reordered = [{"text": "Hi", "type": "text"}, {"source": {"value": url, "type": "url"}, "type": "image"}]
    first = await alice.ask(content, sessionId=thread_id, messageId="m-1")
    assert await alice.ask(reordered, sessionId=thread_id, messageId="m-1") == first


async def test_a_conversation_does_not_change_its_main_agent(alice: User, cloud: RunningCloud, tenant: str) -> None:
    answer = await alice.ask("Hello")
    before = cloud.turns(tenant)
    body = {"message": "Hello", "sessionId": answer["sessionId"], "agentId": "impatient"}
    check_problem(await alice.post("/messages", body), 409, "agent_mismatch")
    assert cloud.turns(tenant) == before
    assert (await alice.ask("Hello", sessionId=answer["sessionId"], agentId="assistant"))["outcome"]


@pytest.mark.parametrize("agent_id", ["nobody", "guarded", "specialist"])
async def test_a_conversation_begins_only_with_an_agent_that_takes_it(
    alice: User, cloud: RunningCloud, tenant: str, agent_id: str
) -> None:
    check_problem(await alice.post("/messages", {"message": "Hello", "agentId": agent_id}), 404, "unknown_agent")
    assert cloud.list_data(tenant) == []


async def test_a_permission_opens_a_guarded_agent(new_user: NewUser, model: FaultModel) -> None:
    chosen = new_user("chosen", "guarded:use")
    answer = await chosen.ask("Hello", agentId="guarded")
    assert answer["state"]["activeAgent"]["id"] == "guarded"
    lapsed = new_user("chosen")
    refused = await lapsed.post("/messages", {"message": "Hello", "sessionId": answer["sessionId"]})
    check_problem(refused, 404, "unknown_agent")


async def test_a_long_message_is_taken_over_http(alice: User, model: FaultModel) -> None:
    text = "Wort für Wort. " * 50_000
    model.script(answers("Read."))
    answer = await alice.ask(text)
    assert answer["messages"][0]["content"] == text
    assert model.requests[0].prompts[-1] == ("user", text)
    assert (await alice.messages(answer["sessionId"]))[0]["content"] == text


async def test_a_long_answer_is_kept_whole(alice: User, model: FaultModel) -> None:
    text = "Zwölf große Boxkämpfer 🥊 " * 20_000
    model.script(sends(chunk({"content": text}), chunk({}, "stop"), "[DONE]"))
    answer = await alice.ask("Tell me everything.")
    assert answer["messages"][1]["content"] == text
    assert (await alice.messages(answer["sessionId"]))[1]["content"] == text


async def test_images_reach_the_model_and_come_back_as_they_were_sent(alice: User, model: FaultModel) -> None:
    pixel = "iVBORw0KGgo="
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "source": {"type": "data", "value": pixel, "mimeType": "image/png"}},
        {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png"}},
    ]
    answer = await alice.ask(parts)
    assert answer["messages"][0]["content"] == parts
    sent = model.requests[0].prompts[-1][1]
    assert [part["type"] for part in sent] == ["text", "image_url", "image_url"]
    assert sent[1]["image_url"]["url"] == f"data:image/png;base64,{pixel}"
    assert sent[2]["image_url"]["url"] == "https://example.com/a.png"


async def test_two_users_of_a_tenant_do_not_share_a_thread(
    alice: User, new_user: NewUser, cloud: RunningCloud, tenant: str
) -> None:
    thread_id = (await alice.ask("Mine"))["sessionId"]
    before = cloud.list_data(tenant)
    refused = await new_user("bob").post("/messages", {"message": "Mine too?", "sessionId": thread_id})
    problem = check_problem(refused, 404, "thread_unavailable")
    assert problem["detail"] == "This conversation is not available to you. Please start a new one."
    assert cloud.list_data(tenant) == before
    [attempt] = cloud.audits(tenant)
    assert (attempt["action"], attempt["outcome"], attempt["user_id"]) == ("thread.write", "denied", "bob")


@pytest.mark.nightly
async def test_a_new_id_of_version_5_begins_nothing(alice: User, cloud: RunningCloud, tenant: str) -> None:
    body = {"message": "Hello", "sessionId": str(uuid.uuid5(uuid.NAMESPACE_DNS, "example.com"))}
    refused = await alice.post("/messages", body)
    assert refused.status_code in (404, 422)
    assert cloud.list_data(tenant) == []
