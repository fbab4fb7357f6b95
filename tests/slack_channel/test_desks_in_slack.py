"""People answer a desk from Slack: the channel between a local Baton and a strict stand-in for Slack."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from baton_slack.blocks import RETURN, TAKE
from tests.fault_model import FaultModel
from tests.slack_channel.conftest import Playing
from tests.slack_channel.slack_requests import event

Json = dict[str, Any]
DESK = "C0DESK"


@pytest.fixture(autouse=True)
def without_errors(playing: Playing) -> Any:
    """Slack refuses no request of a test."""
    playing.slack.errors.clear()
    playing.slack.shared.clear()
    yield
    assert playing.slack.errors == []


def read_visible(message: Json) -> str:
    """Return the blocks of a message as text."""
    return json.dumps(message["blocks"], ensure_ascii=False)


async def request_person(playing: Playing, user: str) -> tuple[str, Json]:
    """Have a user ask for a person; return the conversation's id and its message in the channel."""
    before = len(playing.slack.roots(DESK))
    answer = await playing.ask("I want to talk to a human, <!channel> & co", user)
    await playing.wait_until(lambda: len(playing.slack.roots(DESK)) > before)
    await playing.settle()
    return answer["sessionId"], playing.slack.roots(DESK)[-1]


async def test_a_user_waits_is_answered_and_is_handed_back(playing: Playing, fault_model: FaultModel) -> None:
    user = f"ada-{uuid.uuid4()}"
    thread_id, root = await request_person(playing, user)
    assert user in read_visible(root)
    assert "talk to a human, &lt;!channel&gt; &amp; co" in read_visible(root)
    assert "Nobody has taken it" in read_visible(root)

    early = await playing.write("U0ANNA", "Hello?", DESK, root["ts"])
    await playing.wait_until(lambda: any("Take it first" in line["text"] for line in playing.slack.whispers))
    await playing.press(root, "U0ANNA", TAKE)
    await playing.wait_until(lambda: "*Anna* has taken it" in read_visible(root))
    await playing.ask("Is anybody there?", user, sessionId=thread_id)
    replies = await playing.wait_until(lambda: playing.slack.replies(DESK, root["ts"]))
    assert "Is anybody there?" in read_visible(replies[-1])

    ts = await playing.write("U0ANNA", "Yes &amp; <https://acme.example|here> I am", DESK, root["ts"])
    again = {"type": "message", "channel": DESK, "user": "U0ANNA", "text": "Yes", "ts": ts, "thread_ts": root["ts"]}
    await playing.send(event(again))  # Slack repeats events that it believes lost
    await playing.send(event(again, event_id="another delivery of the message"[:20]))
    await playing.wait_until(lambda: (DESK, ts, "white_check_mark") in playing.slack.reactions)
    await playing.write("U0BEN", "I would not have promised that", DESK, root["ts"])
    await playing.write("U0BEN", "note: She has the receipt", DESK, root["ts"])
    await playing.write("U0BEN", "note: " + "receipt " * 501, DESK, root["ts"])
    await playing.wait_until(lambda: any("at most 4,000 characters" in line["text"] for line in playing.slack.whispers))
    await playing.press(root, "U0ANNA", RETURN, "Refund is on its way.")
    await playing.wait_until(lambda: "Anna has handed it back" in read_visible(root))
    await playing.settle()
    assert all(block["type"] not in ("actions", "input") for block in root["blocks"])

    messages = [(message["role"], message["content"]) for message in await playing.messages(thread_id, user)]
    assert [text for _, text in messages if "I am" in str(text)] == ["Yes & here (https://acme.example) I am"]
    assert not any(text in str(messages) for text in ("Hello?", "promised", "receipt", "Refund"))
    assert (DESK, early, "white_check_mark") not in playing.slack.reactions
    assert len(playing.slack.replies(DESK, root["ts"])) == 1

    await playing.ask("Thank you", user, sessionId=thread_id)
    prompt = json.dumps(fault_model.bodies[-1], ensure_ascii=False)
    assert "Refund is on its way." in prompt
    assert "She has the receipt" in prompt
    await playing.settle()
    assert len(playing.slack.replies(DESK, root["ts"])) == 1, "what is said to the agent is no longer shown"


async def test_of_two_people_who_take_one_wins_and_the_other_learns_who(playing: Playing) -> None:
    _, root = await request_person(playing, f"bob-{uuid.uuid4()}")
    button = {**root, "blocks": list(root["blocks"])}
    playing.slack.whispers.clear()
    await playing.press(button, "U0ANNA", TAKE)
    await playing.press(button, "U0BEN", TAKE)
    await playing.wait_until(lambda: playing.slack.whispers)
    await playing.settle()
    assert [(line["user"], line["text"]) for line in playing.slack.whispers] == [
        ("U0BEN", "Anna has taken this conversation.")
    ]
    assert "*Anna* has taken it" in read_visible(root)


@pytest.mark.nightly
async def test_a_guest_of_the_workspace_takes_nothing(playing: Playing) -> None:
    _, root = await request_person(playing, f"cleo-{uuid.uuid4()}")
    playing.slack.whispers.clear()
    await playing.press(root, "U0GUEST", TAKE)
    await playing.wait_until(lambda: playing.slack.whispers)
    assert "You may not" in playing.slack.whispers[0]["text"]
    assert "Nobody has taken it" in read_visible(root)


@pytest.mark.parametrize(
    ("way", "line"), [("exit", "user has gone back to the agent"), ("close", "conversation was closed")]
)
async def test_a_conversation_that_its_user_leaves_is_no_longer_answered(playing: Playing, way: str, line: str) -> None:
    user = f"dora-{uuid.uuid4()}"
    thread_id, root = await request_person(playing, user)
    headers = {"Authorization": f"Bearer {playing.token('acme', user)}"}
    response = await playing.http.post(f"{playing.baton}/v1/threads/{thread_id}/{way}", json={}, headers=headers)
    assert response.status_code in (200, 202), response.text
    await playing.wait_until(lambda: line in read_visible(root))
    assert line in read_visible(playing.slack.replies(DESK, root["ts"])[-1])
    playing.slack.whispers.clear()
    await playing.write("U0ANNA", "Hello", DESK, root["ts"])
    await playing.wait_until(lambda: playing.slack.whispers)
    assert "the user does not get what you write" in playing.slack.whispers[0]["text"]


@pytest.mark.nightly
async def test_rates_and_lost_answers_of_slack_post_nothing_twice(playing: Playing) -> None:
    user = f"emil-{uuid.uuid4()}"
    playing.slack.refusals.append(("chat.postMessage", 1))
    thread_id, root = await request_person(playing, user)
    playing.slack.loses_answers.append("chat.postMessage")
    long_text = "A <@U0ANNA> sentence that goes on & on. " * 400
    await playing.ask(long_text, user, sessionId=thread_id)
    await playing.wait_until(lambda: len(playing.slack.replies(DESK, root["ts"])) >= 2)
    await playing.settle()
    pieces = [
        block["text"]["text"]
        for reply in playing.slack.replies(DESK, root["ts"])
        for block in reply["blocks"]
        if block["type"] == "section"
    ]
    escaped = long_text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert " ".join(pieces).split() == escaped.split()
    assert [message for message in playing.slack.roots(DESK) if user in message["text"]] == [root]


def slack_file(playing: Playing, name: str, data: bytes) -> Json:
    """A file that a user sends in Slack."""
    playing.slack.files[name] = data
    address = f"{playing.slack.url}/download/{name}"
    about = {"name": name, "mimetype": "text/plain", "size": len(data), "url_private_download": address}
    return {"id": f"F-{name}", **about}


@pytest.mark.nightly
async def test_files_of_the_person_who_has_taken_it_reach_the_user_and_those_of_others_do_not(playing: Playing) -> None:
    user = f"gina-{uuid.uuid4()}"
    thread_id, root = await request_person(playing, user)
    form, plan = slack_file(playing, "form.txt", b"Sign here"), slack_file(playing, "plan.txt", b"Among us")
    elsewhere = {**form, "id": "F-far", "name": "far.txt", "url_private_download": "https://evil.example/far.txt"}
    playing.slack.whispers.clear()
    await playing.write("U0ANNA", "", DESK, root["ts"], subtype="file_share", files=[form])
    await playing.wait_until(lambda: any("Take it first" in line["text"] for line in playing.slack.whispers))
    await playing.press(root, "U0ANNA", TAKE)
    await playing.wait_until(lambda: "*Anna* has taken it" in read_visible(root))
    await playing.write("U0BEN", "", DESK, root["ts"], subtype="file_share", files=[plan])
    await playing.write("U0BEN", "What about this?", DESK, root["ts"], subtype="file_share", files=[plan])
    files = [form, elsewhere]
    ts = await playing.write("U0ANNA", "Please sign", DESK, root["ts"], subtype="file_share", files=files)
    await playing.wait_until(lambda: (DESK, ts, "white_check_mark") in playing.slack.reactions)
    only_a_file = await playing.write("U0ANNA", "", DESK, root["ts"], subtype="file_share", files=[form])
    await playing.wait_until(lambda: (DESK, only_a_file, "white_check_mark") in playing.slack.reactions)
    await playing.settle()

    messages = [message for message in await playing.messages(thread_id, user) if message.get("name") == "Anna"]
    assert [message["content"] for message in messages] == ["Please sign", ""]
    names = [[part["metadata"]["name"] for part in message["metadata"]["attachments"]] for message in messages]
    assert names == [["form.txt"], ["form.txt"]]
    address = messages[0]["metadata"]["attachments"][0]["metadata"]["downloadUrl"]
    assert (await playing.http.get(address)).content == b"Sign here"
    assert ["far.txt is not stored in Slack" in line["text"] for line in playing.slack.whispers[1:]] == [True]


@pytest.mark.nightly
async def test_a_user_in_slack_is_shown_with_their_language_and_gets_the_files_of_people(playing: Playing) -> None:
    before = len(playing.slack.roots(DESK))
    question = await playing.write("U0CARL", "I want to talk to a human", "D0ADA", channel_type="im")
    await playing.wait_until(lambda: len(playing.slack.roots(DESK)) > before)
    await playing.settle()
    root = playing.slack.roots(DESK)[-1]
    assert "Carl waits for a person (support, de-AT)" in read_visible(root)
    await playing.press(root, "U0ANNA", TAKE)
    await playing.wait_until(lambda: "*Anna* has taken it" in read_visible(root))
    form = slack_file(playing, "form.txt", b"Sign here")
    await playing.write("U0ANNA", "Please sign", DESK, root["ts"], subtype="file_share", files=[form])
    await playing.wait_until(lambda: any(file["channel"] == "D0ADA" for file in playing.slack.shared))
    assert "Please sign" in read_visible(playing.slack.replies("D0ADA", question)[-1])
    [file] = [file for file in playing.slack.shared if file["channel"] == "D0ADA"]
    assert (file["thread_ts"], file["name"], file["data"]) == (question, "form.txt", b"Sign here")


async def test_a_file_of_the_user_is_shared_in_the_thread(playing: Playing) -> None:
    user = f"fred-{uuid.uuid4()}"
    thread_id, root = await request_person(playing, user)
    headers = {"Authorization": f"Bearer {playing.token('acme', user)}"}
    described = {"name": "receipt.txt", "contentType": "text/plain", "size": 9}
    address = f"{playing.baton}/v1/threads/{thread_id}/files"
    prepared = (await playing.http.post(address, json=described, headers=headers)).json()
    upload = prepared["upload"]
    stored = await playing.http.request(
        upload["method"], upload["url"], headers=upload["headers"], content=b"EUR 12.99"
    )
    stored.raise_for_status()
    await playing.ask([{"type": "text", "text": "My receipt"}, prepared["part"]], user, sessionId=thread_id)
    await playing.wait_until(lambda: playing.slack.shared)
    assert "[receipt.txt]" in read_visible(playing.slack.replies(DESK, root["ts"])[-1])
    file = playing.slack.shared[-1]
    assert (file["channel"], file["thread_ts"]) == (DESK, root["ts"])
    assert (file["name"], file["data"]) == ("receipt.txt", b"EUR 12.99")
