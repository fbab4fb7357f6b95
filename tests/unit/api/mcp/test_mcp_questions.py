"""Questions of agents over MCP, and their answers."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest
from mcp import Client

from tests.fakes.chat_model import Answer
from tests.harness.wiki import delete, wiki
from tests.unit.api.mcp_client import MODES, Json, McpServed, read_structured


@pytest.fixture
def served() -> McpServed:
    return McpServed.over(wiki(mcp=True))


async def ask(served: McpServed, client: Client, *pages: str) -> Json:
    """The result of a call whose run waits."""
    served.harness.model.script(Answer.calling(*map(delete, pages or ("home",)), text="May I?"))
    return read_structured(await client.call_tool("assistant", {"message": "Delete it."}))


def list_deleted(served: McpServed) -> list[Any]:
    return [call.arguments["page"] for call in served.harness.tools.calls]


@pytest.mark.parametrize("mode", MODES)
async def test_a_question_is_a_result_and_the_next_call_answers_it(served: McpServed, mode: str) -> None:
    async with served.client(mode=mode) as client:
        waiting = await ask(served, client)
        assert (waiting["message"], waiting["state"]) == ("May I?", "input_required")
        [question] = waiting["questions"]
        assert (question["tool"], question["arguments"]) == ("delete", '{"page": "home"}')
        assert question["message"] == "May I use delete?\nPage: home"
        assert list_deleted(served) == []
        served.harness.model.script("It is gone.")
        answer = {"thread_id": waiting["thread_id"], "answer": {"approved": True}}
        after = read_structured(await client.call_tool("assistant", answer))
    assert (after["message"], after["state"]) == ("It is gone.", "completed")
    assert list_deleted(served) == ["home"]


async def test_a_refusal_reaches_the_agent(served: McpServed) -> None:
    async with served.client() as client:
        waiting = await ask(served, client)
        served.harness.model.script("Then not.")
        answer = {"approved": False, "comment": "Not the home page."}
        after = read_structured(
            await client.call_tool("assistant", {"thread_id": waiting["thread_id"], "answer": answer})
        )
    assert after["message"] == "Then not."
    assert list_deleted(served) == []
    assert "Not the home page." in str(served.harness.model.requests[-1].contents)


async def test_several_questions_are_answered_one_by_one(served: McpServed) -> None:
    async with served.client() as client:
        waiting = await ask(served, client, "home", "about")
        first, second = (question["interrupt_id"] for question in waiting["questions"])
        served.harness.model.script("One is gone.")
        thread = {"thread_id": waiting["thread_id"]}
        after = read_structured(
            await client.call_tool("assistant", thread | {"answer": {"approved": False, "interrupt_id": first}})
        )
        [remaining] = after["questions"]
        assert (after["state"], remaining["interrupt_id"]) == ("input_required", second)
        assert remaining["arguments"] == '{"page": "about"}'
        done = thread | {"answer": {"approved": True, "interrupt_id": second}}
        last = read_structured(await client.call_tool("assistant", done))
        repeated = read_structured(await client.call_tool("assistant", done))
    assert last == repeated
    assert last["message"] == "One is gone."
    assert list_deleted(served) == ["about"]


@pytest.mark.parametrize(
    "answer", [{}, {"comment": "Whatever you think."}, {"approved": "yes"}, {"approved": None}, {"interrupt_id": 1}]
)
async def test_an_answer_that_decides_nothing_permits_nothing(served: McpServed, answer: Json) -> None:
    async with served.client() as client:
        waiting = await ask(served, client)
        refused = await client.call_tool("assistant", {"thread_id": waiting["thread_id"], "answer": answer})
    assert read_structured(refused)["code"] == "invalid_request"
    assert list_deleted(served) == []


async def test_an_answer_where_nothing_is_asked_is_refused(served: McpServed) -> None:
    async with served.client() as client:
        started = read_structured(await client.call_tool("assistant", {"message": "Hello"}))
        for answer in ({"approved": True}, {"approved": True, "interrupt_id": "nothing.1"}):
            refused = await client.call_tool("assistant", {"thread_id": started["thread_id"], "answer": answer})
            assert read_structured(refused)["code"] == "interrupt_unavailable"


@pytest.mark.parametrize(
    ("result", "state", "done"),
    [
        (types.ElicitResult(action="accept", content={"approved": True}), "completed", ["home"]),
        (types.ElicitResult(action="accept", content={"approved": False}), "completed", []),
        (types.ElicitResult(action="decline"), "completed", []),
        (types.ElicitResult(action="cancel"), "input_required", []),
    ],
)
async def test_a_client_with_forms_asks_its_user(
    served: McpServed, result: types.ElicitResult, state: str, done: list[str]
) -> None:
    visible: list[str] = []

    async def form(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        visible.append(params.message)
        return result

    async with served.client(elicitation_callback=form) as client:
        served.harness.model.script(Answer.calling(delete("home"), text="May I?"), "All right.")
        reported = read_structured(await client.call_tool("assistant", {"message": "Delete it."}))
    assert reported["state"] == state
    assert list_deleted(served) == done
    [text] = visible
    assert text == "May I use delete?\nPage: home"


async def test_forms_need_a_protocol_that_brings_answers_to_any_process(served: McpServed) -> None:
    async def form(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        raise AssertionError("never asked")

    async with served.client(mode="legacy", elicitation_callback=form) as client:
        assert (await ask(served, client))["state"] == "input_required"
