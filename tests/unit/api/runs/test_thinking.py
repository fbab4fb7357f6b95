"""A model's visible thinking, as the clients of each protocol get it."""

from __future__ import annotations

import json

import pytest

from baton.domain.tenants.identity import Permission
from tests.e2e.agui_clients import NEWER, OLDER, AgUiClient, clients_folder, running_clients
from tests.harness.harness import Harness
from tests.harness.thinking import let_agents_think
from tests.unit.api.a2a_client import A2AServed, message
from tests.unit.api.mcp_client import McpServed, open_to_mcp
from tests.unit.api.run_inputs import run_input
from tests.unit.api.served import Served

__all__ = ["clients_folder", "running_clients"]

THOUGHTS = ("The user greets. ", "I greet back.")


@pytest.fixture(autouse=True)
def thinking(monkeypatch: pytest.MonkeyPatch) -> None:
    let_agents_think(monkeypatch, *THOUGHTS)


async def test_a_reader_without_the_right_to_personal_data_gets_a_whole_thought_with_placeholders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    let_agents_think(monkeypatch, "I write to ada.love", "lace@exam", "ple.com now.")
    served = Served()
    await served.harness.say()
    path = f"/threads/{served.harness.thread_id}/events"
    for after in range(10):
        reported = (await served.get(path, Permission.THREAD_READ_ALL, user="boss", after=after)).text
        assert not any(piece in reported for piece in ("ada.love", "lace@", "ple.com")), after
        bodies = [json.loads(line[6:]) for line in reported.splitlines() if line.startswith("data: ")]
        deltas = [body["delta"] for body in bodies if body["type"] == "REASONING_MESSAGE_CONTENT"]
        assert deltas in ([], ["I write to [email] now."])
        assert ("REASONING_MESSAGE_END" in reported) == (after < 8)


async def test_clients_of_a2a_do_not_learn_what_was_thought() -> None:
    served = A2AServed()
    reported = await served.calls("message/stream", {"message": message("Hello")})
    assert "Hello there." in json.dumps(reported)
    assert "greet" not in json.dumps(reported)


async def test_clients_of_mcp_do_not_learn_what_was_thought() -> None:
    served = McpServed.over(Harness(assistant=open_to_mcp()))
    steps: list[str | None] = []

    async def note_progress(_progress: float, _total: float | None, text: str | None) -> None:
        steps.append(text)

    async with served.client() as client:
        result = await client.call_tool("assistant", {"message": "Hello"}, progress_callback=note_progress)
    assert "Hello there." in repr(result)
    assert "greet" not in repr((result, steps))


@pytest.mark.parametrize("version", [*OLDER, *NEWER])
async def test_clients_of_ag_ui_show_thinking_as_such_and_go_on(
    running_clients: dict[str, AgUiClient], version: str
) -> None:
    served = Served()
    body = run_input(served)
    protocol = {} if version in OLDER else {"protocolVersion": "1.0"}
    received = await running_clients[version].parse_stream((await served.post("/runs", body | protocol)).text)
    assert (received.errors, received.warnings) == ([], [])
    assert [item["role"] for item in received.messages] == ["user", "reasoning", "assistant"]
    assert [item["content"] for item in received.messages] == ["Hello", "".join(THOUGHTS), "Hello there."]
    # They send back what they have got.
    history = [*received.messages, {"id": "m2", "role": "user", "content": "Bye"}]
    second_answer = await served.post("/runs", run_input(served, messages=history) | protocol)
    assert '"RUN_FINISHED"' in second_answer.text
    assert "greet" not in repr(served.harness.model.requests[-1].prompts)


async def test_a_run_may_begin_with_a_message_of_thinking_at_its_end() -> None:
    served = Served()
    thinking = {"id": "x", "role": "reasoning", "content": "Hm."}
    question = {"id": "m1", "role": "user", "content": "Hello"}
    answer = await served.post("/runs", run_input(served, messages=[question, thinking]))
    assert answer.status_code == 200, answer.text
    assert "Hm." not in repr(served.harness.model.requests[-1].prompts)
