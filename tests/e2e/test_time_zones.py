"""Days are the user's, whichever way a message comes."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from tests.e2e.sockets import SocketClient, new_id
from tests.e2e.users import User, run_input
from tests.fault_model import FaultModel

HERE, ELSEWHERE = "Pacific/Kiritimati", "Pacific/Midway"
"""25 hours apart: it is never the same day in both."""


def today(zone: str) -> str:
    """Return the sentence of a prompt about the day in a zone."""
    now = datetime.now(ZoneInfo(zone))
    return f"Today is {now:%A}, {now.day} {now:%B %Y} ({zone})."


def last_prompt_zone(model: FaultModel) -> object:
    """Return the text right before the message in the last prompt."""
    return model.requests[-1].prompts[-2][1]


async def test_a_frame_names_the_zone_and_later_ones_need_not(socket: SocketClient, model: FaultModel) -> None:
    thread_id = new_id()
    await socket.say("Hello", thread_id=thread_id, timeZone=HERE)
    assert last_prompt_zone(model) == today(HERE)
    await socket.say("And now?", thread_id=thread_id)
    assert last_prompt_zone(model) == today(HERE)
    await socket.say("Somewhere else", thread_id=new_id())
    assert last_prompt_zone(model) == today(HERE)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", 1, "A" * 5_000])
async def test_a_frame_with_an_unknown_zone_is_refused_by_name(socket: SocketClient, zone: object) -> None:
    await socket.send("message", threadId=new_id(), messageId="m-1", content="Hello", timeZone=zone)
    refused = await socket.receive_refusal()
    assert refused["code"] == "invalid_request"
    assert refused["message"].startswith("timeZone ")


async def test_every_interface_knows_the_zone_that_another_has_received(
    alice: User, socket: SocketClient, model: FaultModel
) -> None:
    await alice.ask("Hello", sessionId=new_id(), timeZone=ELSEWHERE)
    assert last_prompt_zone(model) == today(ELSEWHERE)
    await alice.run(run_input("Hello"))
    assert last_prompt_zone(model) == today(ELSEWHERE)
    await alice.run({**run_input("Hello"), "forwardedProps": {"timeZone": HERE}})
    assert last_prompt_zone(model) == today(HERE)
    await socket.say("Hello")
    assert last_prompt_zone(model) == today(HERE)
