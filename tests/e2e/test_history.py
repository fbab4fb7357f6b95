"""A conversation that is longer than its prompts: a summary has what left them."""

from __future__ import annotations

from tests.e2e.sockets import SocketClient, new_id
from tests.fault_model import FaultModel, answers

SUMMARY = "A summary of them"
WORDS = "and nothing else than that " * 8


async def test_a_summary_has_what_left_the_prompts(socket: SocketClient, model: FaultModel) -> None:
    thread_id, agent = new_id(), {"agentId": "thrifty"}
    model.otherwise = answers("A short text.")  # a summary as long as its messages would not fit
    for number in range(40):
        await socket.say(f"{number} {WORDS}", thread_id=thread_id, **agent)
        if any(SUMMARY in str(body["messages"]) for body in model.bodies):
            break
    request = [str(body["messages"]) for body in model.bodies]
    assert SUMMARY in request[-1], "the summary stands in the prompt"
    assert f"'content': '0 {WORDS}" not in request[-1], "for what has left it"
    reported = [str(received.body["messages"]) for received in model.light_requests]
    assert any("You keep the summary" in event for event in reported), "which the light model has written"
