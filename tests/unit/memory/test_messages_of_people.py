"""Memory knows what people of a desk have said, and attributes it to no agent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from baton.domain.tenants.identity import ThreadRef
from baton.domain.threads.history_window import SummaryDue
from baton.domain.threads.thread_title import TitleSource
from baton.memory.episodes.session_closing import ClosingStep
from baton.memory.recall.recall import find_episodes
from tests.harness.desks import DeskHarness
from tests.harness.sessions import close, make_episode
from tests.unit.api.served import Served

ANNA = {"kind": "person", "id": "anna", "name": "Anna"}


@pytest.fixture
async def harness() -> DeskHarness:
    """Anna has promised a refund, and has left a note."""
    harness = DeskHarness()
    await harness.ask()
    await harness.take()
    await harness.reply("Your kettle will be refunded on Friday.")
    await harness.note("She is a difficult customer.")
    await harness.hand_back()
    return harness


def material(harness: DeskHarness) -> list[dict[str, Any]]:
    """The messages that the light model was given last."""
    options: list[dict[str, Any]] = json.loads(str(harness.model.requests[-1].prompts[-1].content))["messages"]
    return options


async def test_summaries_and_facts_are_made_from_what_a_person_said_under_their_name(harness: DeskHarness) -> None:
    await close(harness)
    harness.model.script("Anna promised a refund.", '{"facts": []}')
    for step in (ClosingStep.STORE, ClosingStep.SUMMARIZE):
        await harness.app.memory.session_closing.run(step, harness.ada, harness.thread_id, 1)
    [messages] = [entry for entry in material(harness) if entry["role"] == "person"]
    assert (messages["name"], messages["text"]) == ("Anna", "Your kettle will be refunded on Friday.")
    assert "name the person" in str(harness.model.requests[-1].prompts[0].content)
    assert "difficult" not in str(harness.model.requests[-1].prompts)


async def test_the_running_summary_of_a_history_names_the_person(harness: DeskHarness) -> None:
    thread = await harness.thread()
    harness.model.script("Anna promised a refund.")
    summaries = harness.app.memory.history_summaries
    due = SummaryDue(harness.thread_id, "assistant", since=0, summary_at=None, below=thread.next_ordinal - 1)
    assert await summaries.write(harness.ada, due)
    [messages] = [entry for entry in material(harness) if entry["role"] == "person"]
    assert (messages["name"], messages.get("agent")) == ("Anna", None)
    assert "difficult" not in str(harness.model.requests[-1].prompts)


async def test_agents_recall_that_a_person_said_it(harness: DeskHarness) -> None:
    await close(harness)
    await make_episode(harness)
    results = await find_episodes(harness.search, harness.ada, "kettle refunded Friday", None, "")
    [item] = [item for item in results if "kettle" in item.text]
    assert item.title == "Anna, a person, said"
    assert not any("difficult" in item.text for item in results)


async def test_episodes_and_searches_name_the_person_and_hold_no_note(harness: DeskHarness) -> None:
    served = Served(harness)
    episode_id = await close(harness)
    await make_episode(harness)
    episode = (await served.get(f"/episodes/{episode_id}")).raise_for_status()
    assert [message["author"] for message in episode.json()["messages"] if "author" in message] == [ANNA]
    assert "difficult" not in episode.text
    searched = (await served.post("/episodes/search", {"query": "kettle refunded Friday"})).raise_for_status()
    [match] = [match for match in searched.json()["items"][0]["matches"] if "kettle" in match["text"]]
    assert match["author"] == ANNA
    assert "difficult" not in searched.text


async def test_a_title_is_made_of_no_persons_words() -> None:
    harness = DeskHarness(title_source=TitleSource.MODEL)
    thread = ThreadRef(harness.thread_id, may_create=True)
    request = await harness.controls.request_desk(harness.ada, thread, "support")
    await harness.act(request)
    await harness.take()
    await harness.reply("Is it about a kettle?")
    await harness.say("m1", "About my invoice")
    await harness.hand_back()
    harness.model.script("An invoice")
    await harness.run_queue()
    assert (await harness.thread()).title == "An invoice"
    assert "kettle" not in str(harness.model.requests[-1].prompts)


async def test_messages_of_people_can_be_exported_and_imported_again(harness: DeskHarness) -> None:
    served = Served(harness)
    [line] = (await served.get("/users/me/export", content="sessions")).text.splitlines()
    session = json.loads(line)
    [messages] = [message for message in session["messages"] if "author" in message]
    assert (messages["author"], messages["content"]) == (ANNA, "Your kettle will be refunded on Friday.")
    imported = await served.post("/episodes/import", {**session, "sessionId": "again"}, user="bob")
    assert imported.status_code == 202, imported.text
    items = (await served.get(f"/threads/{imported.json()['sessionId']}/messages", user="bob")).json()["items"]
    [again] = [item for item in items if item["content"] == messages["content"]]
    assert (again["name"], again["metadata"]["agentId"], again["metadata"]["author"]) == ("Anna", None, ANNA)
    harness.model.script("Yes?")
    await served.post("/messages", {"sessionId": "again", "messageId": "m9", "message": "Hello again"}, user="bob")
    assert "In a conversation that was imported, a person, Anna, wrote this to the user" in str(
        harness.model.requests[-1].prompts
    )


async def test_an_author_of_an_imported_message_is_checked(harness: DeskHarness) -> None:
    served = Served(harness)
    message = {"role": "user", "content": "Hi", "timestamp": "2025-06-02T09:30:00Z", "author": ANNA}
    refused = await served.post("/episodes/import", {"sessionId": "s", "messages": [message]})
    assert "messages[0].author: only messages of the role assistant" in refused.json()["detail"]
    message = {**message, "role": "assistant", "author": {"id": "anna", "name": "An\nna"}}
    refused = await served.post("/episodes/import", {"sessionId": "s", "messages": [message]})
    assert "messages[0].author.name" in refused.json()["detail"]


async def test_an_export_has_notes_with_their_author_unless_the_user_makes_it(harness: DeskHarness) -> None:
    served = Served(harness)
    own = await served.get("/users/me/export")
    assert "difficult" not in own.text
    lines = (await served.get("/users/ada/export", "user:manage", "pii:read", user="root")).text.splitlines()
    messages = [json.loads(line) for line in lines if json.loads(line).get("type") == "message"]
    written = [(message["content"], message["metadata"]["author"]) for message in messages if "author" in str(message)]
    assert written == [("Your kettle will be refunded on Friday.", ANNA), ("She is a difficult customer.", ANNA)]


async def test_no_other_door_of_the_user_shows_a_note() -> None:
    harness = DeskHarness()
    served = Served(harness)
    await harness.ask()
    await harness.take()
    await harness.note("She is difficult, n1.")
    await harness.hand_on("billing", "She is difficult, n2.")
    await harness.take()
    await harness.hand_back("She is difficult, n3.")
    path = f"/threads/{harness.thread_id}"
    doors = ("", "/messages", "/handoffs", "/turns", "/tool-calls", "/events")
    for door in doors:
        answer = (await served.get(f"{path}{door}")).raise_for_status()
        assert "difficult" not in answer.text, door
    turns = (await served.get(f"{path}/turns")).json()["items"]
    assert [turn["author"]["name"] for turn in turns if "author" in turn] == ["Anna", "Anna", "Anna"]
    await harness.ask("m2")
    await harness.say("m3", "Is anybody there?")
    assert (await served.get(f"{path}/turns")).json()["items"][0]["status"] == "delivered"
