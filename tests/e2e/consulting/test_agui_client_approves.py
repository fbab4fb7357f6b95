"""The AG-UI project's own JavaScript client answers what a run waits for."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.cloud import RunningCloud
from tests.e2e.sockets import new_id
from tests.e2e.test_agui_client import chat, client_folder, essence, script
from tests.e2e.users import User, run_input
from tests.fault_model import FaultModel, answers, calls_tools

__all__ = ["client_folder", "script"]


async def test_the_client_sees_the_question_and_its_answer_goes_on(
    script: Path,
    cloud: RunningCloud,
    alice: User,
    model: FaultModel,
) -> None:
    thread_id = new_id()
    # The client names no agent, so somebody else begins the conversation.
    await alice.run(run_input("Hello", thread_id=thread_id, forwardedProps={"agentId": "careful"}))
    model.script(calls_tools(("next_number", {}), text="Let me count."), answers("Counted."))
    heard = await chat(script, cloud, alice, thread_id, ["Count", {"status": "resolved"}])

    asked, resumed = heard["runs"]
    assert [interrupt["message"] for interrupt in asked["interrupts"]] == ["May I use next_number?"]
    assert (asked["errors"], resumed["errors"], resumed["interrupts"]) == ([], [], [])
    assert "TOOL_CALL_RESULT" in resumed["events"]
    assert resumed["events"][-1] == "RUN_FINISHED"
    said = [message for message in heard["messages"] if message["role"] == "assistant" and message.get("content")]
    stored = [message for message in await alice.messages(thread_id) if message["role"] == "assistant"]
    assert list(map(essence, said)) == list(map(essence, stored))[1:]
    [call] = (await alice.read(f"/threads/{thread_id}/tool-calls"))["items"]
    assert call["succeeded"]
