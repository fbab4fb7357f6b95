"""The value of a structured answer, wherever clients read it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from baton.domain.agents.agent import AgentDefinition
from baton.domain.handoffs.handoff import HandoffDefinition
from tests.fakes.chat_model import Answer
from tests.harness.harness import ASSISTANT, Harness
from tests.harness.structured import OSLO, SCHEMA, WRITTEN
from tests.unit.api.a2a_client import A2AServed, blocking, message
from tests.unit.api.mcp_client import MODES, McpServed, read_structured
from tests.unit.api.served import Served

NESTED: dict[str, Any] = {
    "type": "object",
    "properties": {"places": {"type": "array", "items": {"$ref": "#/$defs/Place"}}},
    "required": ["places"],
    "$defs": {"Place": SCHEMA},
}
RECURSIVE: dict[str, Any] = {"type": "object", "properties": {"next": {"$ref": "#"}}}


def harness_of(schema: dict[str, Any] = SCHEMA, **fields: Any) -> Harness:
    agent = ASSISTANT.model_copy(update={"answer_schema": schema, "mcp": True, **fields})
    return Harness(assistant=AgentDefinition.model_validate(agent.model_dump()))


async def test_a_message_is_answered_by_a_result() -> None:
    served = Served(harness_of())
    served.harness.model.script(WRITTEN)
    body = {"message": "How cold is it?", "sessionId": served.harness.thread_id}
    answer = (await served.post("/messages", body)).raise_for_status().json()
    assert answer["result"] == OSLO
    assert [text["metadata"].get("result") for text in answer["messages"]] == [None, OSLO]
    assert answer["messages"][1]["content"] == WRITTEN
    listed, _ = await served.items(f"/threads/{served.harness.thread_id}/messages")
    assert {text["metadata"].get("result") is None for text in listed} == {True, False}


async def test_a_message_that_is_answered_by_text_has_no_result() -> None:
    answer = (await Served().post("/messages", {"message": "Hello"})).raise_for_status().json()
    assert "result" not in answer
    assert all("result" not in text["metadata"] for text in answer["messages"])


async def test_an_invalid_answer_is_a_problem() -> None:
    served = Served(harness_of())
    served.harness.model.script('{"city": "Ada\'s town"}', '{"city": "Ada\'s town"}')
    refused = await served.post("/messages", {"message": "How cold is it?"})
    assert refused.status_code == 502
    assert (refused.json()["code"], refused.json()["retryable"]) == ("answer_invalid", True)
    assert "`degrees`" in refused.json()["detail"]
    assert "Ada" not in refused.json()["detail"]


async def test_personal_data_in_a_result_is_hidden_from_other_readers() -> None:
    served = Served(harness_of())
    written = {"city": "ada@example.com", "degrees": 1}
    served.harness.model.script(json.dumps(written))
    await served.harness.say()
    path = f"/threads/{served.harness.thread_id}/messages"
    own_items, _ = await served.items(path)
    visible = (await served.get(path, "thread:read_all", user="bob")).raise_for_status().text
    assert own_items[-1]["metadata"]["result"] == written or own_items[0]["metadata"]["result"] == written
    assert "ada@example.com" not in visible


@pytest.mark.parametrize("pieces", [(WRITTEN,), ("```json\n", WRITTEN, "\n```")], ids=["whole", "in a code block"])
async def test_a_task_of_a2a_has_it_as_data(pieces: tuple[str, ...]) -> None:
    served = A2AServed(harness_of())
    served.harness.model.script(Answer(pieces))
    task = (await served.call("message/send", blocking(message("How cold is it?", "m-1"))))["result"]
    [artifact] = task["artifacts"]
    assert [part["data"] for part in artifact["parts"]] == [OSLO]
    assert [part["data"] for part in task["history"][-1]["parts"]] == [OSLO]


async def test_a_stream_of_a2a_has_it_as_one_piece_of_data() -> None:
    served = A2AServed(harness_of())
    served.harness.model.script(WRITTEN)
    events = await served.calls("message/stream", {"message": message("How cold is it?", "m-1")})
    updates = [event["result"] for event in events if event["result"]["kind"] == "artifact-update"]
    assert [(update["artifact"]["parts"], update["append"]) for update in updates] == [
        ([{"kind": "data", "data": OSLO}], False)
    ]


async def test_the_card_says_that_the_agent_answers_with_json() -> None:
    card = (await A2AServed(harness_of()).request("GET", "/.well-known/agent-card.json")).raise_for_status().json()
    assert card["skills"][0]["outputModes"] == ["application/json"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("schema", "value"),
    [(SCHEMA, OSLO), (NESTED, {"places": [OSLO]}), (RECURSIVE, {"next": {"next": {}}})],
    ids=["flat", "with definitions", "recursive"],
)
async def test_a_call_over_mcp_has_it_in_its_structured_content(mode: str, schema: Any, value: Any) -> None:
    served = McpServed.over(harness_of(schema))
    served.harness.model.script(json.dumps(value))
    async with served.client(mode=mode) as client:
        await client.list_tools()  # from now on the client checks results by the tool's schema
        result = read_structured(await client.call_tool("assistant", {"message": "How cold is it?"}))
    assert result["result"] == value


@pytest.mark.parametrize("mode", MODES)
async def test_a_failed_call_over_mcp_is_described_by_the_schema_of_the_tool_too(mode: str) -> None:
    """The official SDK for TypeScript checks the results of errors: it would raise, and the model never read why."""
    served = McpServed.over(harness_of())
    served.harness.model.script('{"city": 1}', '{"city": 1}')
    async with served.client(mode=mode) as client:
        [tool] = (await client.list_tools()).tools
        failures = [
            await client.call_tool("assistant", arguments)
            for arguments in ({"message": "How cold is it?"}, {}, {"message": "On", "thread_id": "unknown"})
        ]
    assert [failure.is_error for failure in failures] == [True] * 3
    assert [read_structured(failure)["code"] for failure in failures] == [
        "answer_invalid",
        "invalid_request",
        "thread_unavailable",
    ]
    for failure in failures:
        Draft202012Validator(tool.output_schema).validate(failure.structured_content)
        [text] = failure.content
        assert getattr(text, "text", None) == read_structured(failure)["message"]


async def test_the_schema_of_a_tool_over_mcp_describes_the_result() -> None:
    async with McpServed.over(harness_of(NESTED)).client() as client:
        [tool] = (await client.list_tools()).tools
    assert tool.output_schema is not None
    assert tool.output_schema["properties"]["result"] == {k: v for k, v in NESTED.items() if k != "$defs"}
    assert tool.output_schema["$defs"] == NESTED["$defs"]


async def test_a_tool_that_hands_over_promises_an_object_only() -> None:
    helper = ASSISTANT.model_copy(update={"id": "helper", "main": False})
    harness = harness_of(handoffs=(HandoffDefinition(agent="helper"),))
    harness = Harness(assistant=harness.assistant, others=(helper,))
    async with McpServed.over(harness).client() as client:
        [tool] = (await client.list_tools()).tools
    assert tool.output_schema is not None
    assert tool.output_schema["properties"]["result"] == {"type": "object"}
