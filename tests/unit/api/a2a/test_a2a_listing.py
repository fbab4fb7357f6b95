"""The list of a caller's tasks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from baton.api.a2a import listing
from tests.fakes.chat_model import Answer
from tests.harness.wiki import delete, wiki
from tests.unit.api.a2a_client import A2AServed, Json, blocking, message, text_of

HOUR = 3600


@pytest.fixture
def served() -> A2AServed:
    return A2AServed(wiki())


async def begin_task(served: A2AServed, text: str, message_id: str, **fields: Any) -> Json:
    """A task, an hour after the previous one."""
    served.harness.clock.advance(HOUR)
    task: Json = (await served.call("message/send", blocking(message(text, message_id, **fields))))["result"]
    return task


async def list_tasks(served: A2AServed, who: str = "ada", **params: Any) -> Json:
    page: Json = (await served.call("ListTasks", params, user=who))["result"]
    return page


async def all_of(served: A2AServed, **params: Any) -> list[Json]:
    """The tasks of all pages."""
    results: list[Json] = []
    token = ""
    for _ in range(50):
        page = await list_tasks(served, **params, **({"pageToken": token} if token else {}))
        results += page["tasks"]
        token = page["nextPageToken"]
        if not token:
            assert page["totalSize"] == len(results)
            return results
    raise AssertionError("the list does not end")


def ids(tasks: list[Json]) -> list[str]:
    return [task["id"] for task in tasks]


async def create_four_tasks(served: A2AServed) -> list[str]:
    """Create four tasks, and return their ids as listed, the latest first."""
    one = await begin_task(served, "One", "m-1")
    two = await begin_task(served, "Two", "m-2")
    await served.harness.say("m-0", "By the web page")
    three = await begin_task(served, "Three", "m-3", contextId=one["contextId"])
    four = await begin_task(served, "Four", "m-4")
    return ids([four, three, one, two])


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100])
async def test_the_conversation_with_the_latest_activity_is_first(served: A2AServed, size: int) -> None:
    expected = await create_four_tasks(served)
    assert ids(await all_of(served, pageSize=size)) == expected


async def test_a_list_may_need_several_looks_at_many_conversations(
    served: A2AServed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MAX_THREADS_READ", 1)
    monkeypatch.setattr(listing, "MAX_SEARCHED", 2)
    monkeypatch.setattr(listing, "THREADS_A_PAGE", 1)
    expected = await create_four_tasks(served)
    assert ids(await all_of(served)) == expected


async def test_long_tasks_make_short_pages(served: A2AServed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MAX_BYTES", 100)
    expected = await create_four_tasks(served)
    assert len((await list_tasks(served))["tasks"]) == 1
    assert ids(await all_of(served)) == expected


async def test_history_and_artifacts_are_left_out_unless_they_are_wanted(served: A2AServed) -> None:
    task = await begin_task(served, "One", "m-1")
    [bare] = (await list_tasks(served))["tasks"]
    assert bare.get("history", []) == []
    assert "artifacts" not in bare
    [whole] = (await list_tasks(served, historyLength=1, includeArtifacts=True))["tasks"]
    assert [text_of(item) for item in whole["history"]] == ["Hello there."]
    assert [text_of(artifact) for artifact in whole["artifacts"]] == ["Hello there."]
    assert whole["id"] == task["id"]


async def test_tasks_of_one_context(served: A2AServed) -> None:
    one = await begin_task(served, "One", "m-1")
    await begin_task(served, "Two", "m-2")
    three = await begin_task(served, "Three", "m-3", contextId=one["contextId"])
    expected = ids([three, one])
    assert ids(await all_of(served, contextId=one["contextId"])) == expected
    assert ids(await all_of(served, contextId=one["contextId"], pageSize=1)) == expected
    assert (await list_tasks(served, contextId=one["contextId"], who="bob"))["tasks"] == []
    assert (await list_tasks(served, contextId="unknown"))["tasks"] == []


async def test_tasks_in_one_state_and_since_a_time(served: A2AServed) -> None:
    one = await begin_task(served, "One", "m-1")
    served.harness.clock.advance(3_600)
    served.harness.model.script(Answer.calling(delete("home"), text="May I?"))
    two = await begin_task(served, "Two", "m-2")
    assert ids(await all_of(served, status="TASK_STATE_COMPLETED")) == [one["id"]]
    assert ids(await all_of(served, status="TASK_STATE_INPUT_REQUIRED")) == [two["id"]]
    assert await all_of(served, status="TASK_STATE_FAILED") == []
    since = (served.harness.clock.now() - timedelta(minutes=30)).isoformat()
    assert ids(await all_of(served, statusTimestampAfter=since)) == [two["id"]]


async def test_everybody_sees_their_own_tasks(served: A2AServed) -> None:
    await begin_task(served, "One", "m-1")
    assert (await list_tasks(served, who="bob"))["tasks"] == []
    read_all = (await served.call("ListTasks", {}, "thread:read_all", user="bob"))["result"]
    assert read_all["tasks"] == []


@pytest.mark.parametrize(
    "params",
    [
        {"pageSize": 0},
        {"pageSize": -1},
        {"pageSize": 101},
        {"pageToken": "nothing"},
        {"pageToken": "eyJjIjogMX0"},
        {"historyLength": -1},
        {"status": "NO_STATE"},
        {"statusTimestampAfter": "yesterday"},
        {"contextId": "a\nb"},
    ],
)
async def test_what_is_no_list(served: A2AServed, params: Json) -> None:
    assert (await served.call("ListTasks", params))["error"]["code"] == -32602
