"""The Context Inspector, through the whole stack."""

from __future__ import annotations

from tests.e2e.fixtures import NewUser


async def test_a_turns_context_can_be_inspected_by_a_user_who_may(new_user: NewUser) -> None:
    inspector, reader = new_user("ada", "context:inspect"), new_user("ada")
    answer = await inspector.ask("Hello")
    thread = f"/threads/{answer['sessionId']}"

    [turn] = (await reader.get(f"{thread}/turns")).raise_for_status().json()["items"]
    assert (turn["runId"], turn["status"], turn["agentId"]) == (answer["runId"], "success", "assistant")

    record = (await inspector.get(f"{thread}/turns/{turn['runId']}/context")).raise_for_status().json()
    kinds = [block["kind"] for block in record["blocks"]]
    assert kinds == ["system", "procedure", "knowledge", "episodes", "history", "current"]
    [call] = record["calls"]
    assert call["messages"][-1] == {"role": "user", "content": "Hello"}
    assert call["inputTokens"] == turn["usage"]["inputTokens"]

    assert (await reader.get(f"{thread}/turns/{turn['runId']}/context")).status_code == 403
    assert (await inspector.get(f"{thread}/turns/none/context")).status_code == 404
    audited = (await inspector.get(f"{thread}/audit")).json()["items"]
    assert {item["outcome"] for item in audited if item["action"] == "context.read"} == {
        "allowed",
        "denied",
        "not_found",
    }
