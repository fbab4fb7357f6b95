"""Users talk to an agent in Slack."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from baton_slack.blocks import APPROVE, DECLINE, TAKE
from baton_slack.channel import WORKERS
from tests.e2e.gates import Gate
from tests.fault_model import FaultModel, calls_tools
from tests.slack_channel.conftest import Playing
from tests.slack_channel.slack_requests import event
from tests.slack_channel.stand_in import BOT

pytestmark = pytest.mark.nightly

Json = dict[str, Any]


def read_messages(playing: Playing, channel: str, ts: str) -> str:
    """The app's messages in a thread, as JSON."""
    return json.dumps([message["blocks"] for message in playing.slack.replies(channel, ts)], ensure_ascii=False)


async def test_a_thread_of_a_direct_message_is_a_conversation(playing: Playing, fault_model: FaultModel) -> None:
    ts = await playing.write("U0CARL", "Which lamps &lt;here&gt;?", "D0ADA", channel_type="im")
    await playing.wait_until(lambda: "Which lamps &lt;here&gt;?" in read_messages(playing, "D0ADA", ts))
    await playing.write("U0CARL", "And blue ones?", "D0ADA", ts, channel_type="im")
    await playing.wait_until(lambda: "And blue ones?" in read_messages(playing, "D0ADA", ts))
    await playing.settle()
    assert len(playing.slack.replies("D0ADA", ts)) == 2
    contents = json.dumps(fault_model.bodies[-1]["messages"])
    assert "Which lamps <here>?" in contents


async def test_slow_answers_to_users_delay_nobody_elses_actions(playing: Playing, fault_model: FaultModel) -> None:
    before = len(playing.slack.roots("C0DESK"))
    await playing.ask("I want to talk to a human", "hana")
    await playing.wait_until(lambda: len(playing.slack.roots("C0DESK")) > before)
    root = playing.slack.roots("C0DESK")[-1]
    gate = Gate()
    fault_model.otherwise = gate.behaviour
    texts = [f"Lamp {number}?" for number in range(WORKERS)]
    written = [await playing.write("U0CARL", text, "D0ADA", channel_type="im") for text in texts]
    await playing.wait_until(lambda: len(fault_model.requests) == WORKERS)
    await playing.press(root, "U0ANNA", TAKE)
    await playing.wait_until(lambda: "*Anna* has taken it" in json.dumps(root["blocks"]))
    gate.open()
    await playing.wait_until(lambda: all(gate.text in read_messages(playing, "D0ADA", ts) for ts in written))
    await playing.settle()
    assert [len(playing.slack.replies("D0ADA", ts)) for ts in written] == [1] * WORKERS


async def test_what_a_user_writes_during_an_answer_waits_in_baton(playing: Playing, fault_model: FaultModel) -> None:
    gate = Gate()
    fault_model.script(gate.behaviour)
    ts = await playing.write("U0CARL", "Which lamps?", "D0ADA", channel_type="im")
    await playing.wait_until(lambda: fault_model.requests)
    await playing.write("U0CARL", "And blue ones?", "D0ADA", ts, channel_type="im")
    thread_id = (playing.storage.get(f"talk:D0ADA:{ts}:U0CARL") or {})["threadId"]
    headers = {"Authorization": f"Bearer {playing.token('acme', 'slack-T0ACME-U0CARL')}"}
    async with asyncio.timeout(30):
        waiting: list[Json] = []
        while not waiting:
            answer = await playing.http.get(f"{playing.baton}/v1/threads/{thread_id}/queue", headers=headers)
            waiting = answer.json()["items"]
    assert [message["content"][0]["text"] for message in waiting] == ["And blue ones?"]
    gate.open()
    await playing.wait_until(lambda: "And blue ones?" in read_messages(playing, "D0ADA", ts))
    assert gate.text in read_messages(playing, "D0ADA", ts)


async def test_an_edited_mention_is_not_sent_again(playing: Playing, fault_model: FaultModel) -> None:
    ts = await playing.write("U0CARL", f"<@{BOT}> Red lamps?", "C0TALK", type="app_mention")
    await playing.wait_until(lambda: "Red lamps?" in read_messages(playing, "C0TALK", ts))
    await playing.settle()
    playing.slack.whispers.clear()
    edited = {"type": "app_mention", "channel": "C0TALK", "user": "U0CARL", "text": f"<@{BOT}> Blue ones?", "ts": ts}
    await playing.send(event(edited, event_id=f"Ev{ts}edited"))
    await playing.settle()
    assert len(playing.slack.replies("C0TALK", ts)) == 1
    assert playing.slack.whispers == []


async def test_a_mention_in_a_channel_is_answered_below_it_and_files_are_read(
    playing: Playing, fault_model: FaultModel
) -> None:
    playing.slack.files["list.txt"] = b"Milk, eggs, flour"
    file = {
        "id": "F1",
        "name": "list.txt",
        "mimetype": "text/plain",
        "size": 17,
        "url_private_download": f"{playing.slack.url}/download/list.txt",
    }
    elsewhere = {**file, "name": "far.txt", "url_private_download": "https://evil.example/far.txt"}
    playing.slack.whispers.clear()
    text = f"<@{BOT}> What is in it?"
    ts = await playing.write("U0CARL", text, "C0TALK", type="app_mention", files=[file, elsewhere])
    await playing.wait_until(lambda: "What is in it?" in read_messages(playing, "C0TALK", ts))
    await playing.settle()
    assert "Milk, eggs, flour" in json.dumps(fault_model.bodies[-1]["messages"])
    assert ["far.txt is not stored in Slack" in line["text"] for line in playing.slack.whispers] == [True]


async def test_words_of_others_and_of_bots_begin_no_conversation(playing: Playing, fault_model: FaultModel) -> None:
    written = list[str]()
    for fields in ({"bot_id": "B1"}, {"subtype": "message_changed"}, {"channel_type": "channel"}, {"user": BOT}):
        written.append(await playing.write("U0CARL", "Good evening", "C0TALK", **fields))
    await playing.settle()
    assert [playing.slack.replies("C0TALK", ts) for ts in written] == [[]] * 4
    assert not any("Good evening" in json.dumps(body["messages"][-1]) for body in fault_model.bodies)


async def test_a_user_approves_a_call_and_nobody_else_does(playing: Playing, fault_model: FaultModel) -> None:
    fault_model.script(calls_tools(("delete_page", json.dumps({"page": "home"}))))
    ts = await playing.write("U0CARL", "Delete it", "D0ADA", channel_type="im")
    await playing.wait_until(lambda: "Delete the page home?" in read_messages(playing, "D0ADA", ts))
    await playing.settle()
    question = next(
        message for message in playing.slack.replies("D0ADA", ts) if "baton_approve" in json.dumps(message["blocks"])
    )
    before = len(playing.slack.replies("D0ADA", ts))
    playing.slack.whispers.clear()
    await playing.press(question, "U0BEN", APPROVE)
    await playing.wait_until(lambda: playing.slack.whispers)
    assert "Only the person who talks" in playing.slack.whispers[0]["text"]
    before_the_decision = {**question, "blocks": list(question["blocks"])}
    await playing.press(question, "U0CARL", APPROVE)
    await playing.wait_until(lambda: "*Carl* has approved it" in json.dumps(question["blocks"]))
    await playing.press(before_the_decision, "U0CARL", DECLINE)
    await playing.settle()
    assert "*Carl* has approved it" in json.dumps(question["blocks"]), "the first of two presses decides"
    await playing.wait_until(lambda: len(playing.slack.replies("D0ADA", ts)) > before)  # the answer after the call


async def test_people_of_the_channel_decide_about_calls_of_other_conversations(
    playing: Playing, fault_model: FaultModel
) -> None:
    fault_model.script(calls_tools(("delete_page", json.dumps({"page": "about"}))))
    answer = await playing.ask("Delete the other one", "gina")
    await playing.wait_until(lambda: playing.slack.roots("C0APPROVE"))
    await playing.settle()
    question = playing.slack.roots("C0APPROVE")[-1]
    assert "Delete the page about?" in json.dumps(question["blocks"])
    await playing.press(question, "U0BEN", APPROVE)
    await playing.wait_until(lambda: "*Ben* has approved it" in json.dumps(question["blocks"]))
    async with asyncio.timeout(30):  # the run continues without the channel
        while (await playing.messages(answer["sessionId"], "gina"))[-1]["role"] != "assistant":  # noqa: ASYNC110
            await asyncio.sleep(0.1)
