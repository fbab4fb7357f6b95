"""Nothing takes the words that begin a run by themselves for the user's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from baton.api.a2a.wire import to_message
from baton.domain.errors import BranchUnavailable
from baton.domain.threads.a2a_task import TaskId
from baton.domain.threads.history_window import SummaryDue
from baton.domain.threads.message import find_question_text
from baton.domain.threads.thread_title import TitleSource
from baton.memory.episodes.session_closing import ClosingStep
from baton.memory.recall.recall import find_episodes
from tests.fakes.chat_model import Answer
from tests.harness.due import DueHarness
from tests.harness.sessions import close, make_episode
from tests.unit.api.rerunning import Rerunning
from tests.unit.api.served import Served

FERN = "Water the green fern."
CAUSE = {"role": "event", "cause": "schedule"}


@pytest.fixture
async def harness() -> DueHarness:
    """Ada has said hello, and a schedule has begun a run."""
    harness = DueHarness()
    await harness.say("m0", "Hello")
    await begin(harness)
    return harness


async def begin(harness: DueHarness, answer: str = "Your plants are thirsty.") -> None:
    await harness.remind(FERN)
    harness.model.script(answer)
    await harness.pass_time(hours=1)


def causes(harness: DueHarness) -> list[dict[str, Any]]:
    """The causes in what the light model was given last, with an explanation."""
    system, material = harness.model.requests[-1].prompts[0], harness.model.requests[-1].prompts[-1]
    assert "have begun a turn without the user" in str(system.content)
    return [entry for entry in json.loads(str(material.content))["messages"] if FERN in entry["text"]]


async def test_summaries_and_facts_are_not_made_from_them_as_the_users(harness: DueHarness) -> None:
    await close(harness)
    harness.model.script("A fern.", '{"facts": []}')
    for step in (ClosingStep.STORE, ClosingStep.SUMMARIZE):
        await harness.app.memory.session_closing.run(step, harness.ada, harness.thread_id, 1)
    assert [{name: entry[name] for name in CAUSE} for entry in causes(harness)] == [CAUSE]


async def test_the_running_summary_of_a_history_says_what_they_are(harness: DueHarness) -> None:
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    harness.model.script("A fern.")
    due = SummaryDue(harness.thread_id, "assistant", since=0, summary_at=None, below=thread.next_ordinal - 1)
    assert await harness.app.memory.history_summaries.write(harness.ada, due)
    assert causes(harness) == [CAUSE | {"text": FERN}]


async def test_agents_recall_that_the_user_has_not_said_them(harness: DueHarness) -> None:
    episode_id = await close(harness)
    await make_episode(harness)
    results = await find_episodes(harness.search, harness.ada, "water green fern", None, "")
    [item] = [item for item in results if item.text == FERN]
    assert "the user said" not in item.title
    assert "not the user" in item.title
    served = Served(harness)
    episode = (await served.get(f"/episodes/{episode_id}")).raise_for_status().json()
    assert [message["role"] for message in episode["messages"] if message["content"] == FERN] == ["event"]


async def test_titles_and_previews_are_made_of_other_words() -> None:
    harness = DueHarness(title_source=TitleSource.MODEL)
    harness.model.otherwise = Answer(("Thirsty plants",))
    await begin(harness)
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert (thread.title, thread.preview) == ("Thirsty plants", None)
    assert FERN not in str(harness.model.requests[-1].prompts)


async def test_they_are_exported_and_imported_as_what_they_are(harness: DueHarness) -> None:
    served = Served(harness)
    [line] = (await served.get("/users/me/export", content="sessions")).text.splitlines()
    session = json.loads(line)
    [cause] = [message for message in session["messages"] if message["content"] == FERN]
    assert (cause["role"], cause["source"]["kind"]) == ("event", "schedule")
    imported = await served.post("/episodes/import", {**session, "sessionId": "again"}, user="bob")
    assert imported.status_code == 202, imported.text
    items = (await served.get(f"/threads/{imported.json()['sessionId']}/messages", user="bob")).json()["items"]
    [again] = [item for item in items if item["content"] == FERN]
    assert (again["role"], again["metadata"]["source"]) == ("event", cause["source"])
    await served.post("/messages", {"sessionId": "again", "messageId": "m9", "message": "Hello again"}, user="bob")
    assert "No person has written this now." in str(harness.model.requests[-1].prompts)


@pytest.mark.parametrize(
    ("role", "source"),
    [
        ("event", None),
        ("user", {"kind": "schedule", "id": "s"}),
        ("event", {"kind": "wish", "id": "s"}),
        ("event", {"kind": "event", "id": ""}),
        ("event", {"kind": "event", "id": "e", "type": "a\nb"}),
    ],
)
async def test_the_source_of_an_imported_message_is_checked(role: str, source: Any) -> None:
    message = {"role": role, "content": "Hi", "timestamp": "2025-06-02T09:30:00Z", "source": source}
    refused = await Served().post("/episodes/import", {"sessionId": "s", "messages": [message]})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert "messages[0].source" in refused.json()["detail"]


@pytest.mark.parametrize("branch", [{"regenerate": True}, {}], ids=["regenerate", "edit"])
async def test_no_branch_repeats_or_replaces_them(harness: DueHarness, branch: dict[str, Any]) -> None:
    cause = (await harness.messages())[2]
    assert cause.text == FERN
    with pytest.raises(BranchUnavailable):
        await harness.say("m9", "Otherwise", branch={"from": cause.id, **branch})


async def test_a_dry_run_gives_them_to_the_model_as_what_they_are(harness: DueHarness) -> None:
    cause = (await harness.messages())[2]
    served = Rerunning(harness)
    path = f"/threads/{harness.thread_id}/turns/{cause.run_id}/rerun"
    again = await served.post(path, {}, "context:inspect")
    assert again.status_code == 200, again.text
    assert "No person has written this now." in str(harness.model.requests[-1].prompts[-1].content)
    assert "stay_silent" in [tool.name for tool in harness.model.requests[-1].tools]


async def test_traces_and_a2a_show_no_question_of_the_user(harness: DueHarness) -> None:
    cause, answer = (await harness.messages())[2:]
    assert find_question_text([cause, answer]) is None
    message = to_message(cause, TaskId(harness.thread_id, "m0"))
    assert message.role == to_message(answer, TaskId(harness.thread_id, "m0")).role
