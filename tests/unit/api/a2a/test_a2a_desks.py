"""A2A tasks whose messages go to the people of a desk."""

from __future__ import annotations

from typing import Any

import pytest
from a2a.compat.v0_3 import types as v03

from tests.harness.desks import DeskHarness
from tests.unit.api.a2a_client import A2AServed, Json, message, text_of
from tests.unit.api.a2a_messages import send
from tests.unit.api.pushed import work_off

ANNA = {"kind": "person", "id": "anna", "name": "Anna"}


@pytest.fixture
def served() -> A2AServed:
    return A2AServed(DeskHarness())


class AtDesk:
    """A task at a desk."""

    def __init__(self, served: A2AServed, task: Json) -> None:
        self.served = served
        assert isinstance(served.harness, DeskHarness)
        self.harness = served.harness
        self.harness.thread_id = task["contextId"]
        self.id, self.first = task["id"], task

    async def now(self) -> Json:
        task: Json = (await self.served.call("tasks/get", {"id": self.id}))["result"]
        return task


@pytest.fixture
async def at_desk(served: A2AServed) -> AtDesk:
    served.harness.model.script("Ada wants a person.")
    return AtDesk(served, await send(served, message("I want to talk to a human", "m-1")))


def state(task: Json) -> Any:
    return task["status"]["state"]


async def test_a_task_at_a_desk_is_working_and_says_that_people_answer(at_desk: AtDesk, served: A2AServed) -> None:
    assert state(at_desk.first) == "working"
    assert "Somebody will answer here soon" in text_of(at_desk.first["status"]["message"])
    context = at_desk.first["contextId"]
    delivered = await send(served, message("Are you there?", "m-2", taskId=at_desk.id, contextId=context))
    assert state(delivered) == "working"
    assert text_of(delivered["status"]["message"]) == "The message was delivered. People answer here."


async def test_a_persons_message_is_an_agents_message_with_the_persons_name(at_desk: AtDesk) -> None:
    await at_desk.harness.take()
    await at_desk.harness.reply("I am here.", "p1")
    await at_desk.harness.note("She is difficult.")
    task = await at_desk.now()
    assert state(task) == "working"
    [reply] = [entry for entry in task["history"] if text_of(entry) == "I am here."]
    [about] = reply["metadata"].values()
    assert (reply["role"], about["author"]) == ("agent", ANNA)
    [artifact] = [artifact for artifact in task["artifacts"] if artifact["artifactId"] == "p1"]
    assert artifact["name"] == "Anna"
    assert "difficult" not in str(task)


async def test_a_task_is_completed_by_the_return(at_desk: AtDesk) -> None:
    await at_desk.harness.take()
    await at_desk.harness.hand_back("Done.")
    task = await at_desk.now()
    assert state(task) == "completed"
    assert "has left the conversation" in text_of(task["status"]["message"])


async def test_the_task_of_the_latest_message_at_the_desk_has_the_answers_and_all_end_with_the_return(
    at_desk: AtDesk, served: A2AServed
) -> None:
    later = AtDesk(served, await send(served, message("And my invoice?", "m-2", contextId=at_desk.first["contextId"])))
    assert later.id != at_desk.id
    await at_desk.harness.take()
    await at_desk.harness.reply("It is paid.", "p1")
    assert "It is paid." in str((await later.now())["history"])
    assert "It is paid." not in str((await at_desk.now())["history"])
    assert [state(await task.now()) for task in (at_desk, later)] == ["working", "working"]
    await at_desk.harness.hand_back()
    assert [state(await task.now()) for task in (at_desk, later)] == ["completed", "completed"]


async def test_a_stream_ends_while_people_answer(served: A2AServed) -> None:
    served.harness.model.script("Ada wants a person.")
    events = await served.calls("message/stream", {"message": message("I want to talk to a human", "m-1")})
    last = events[-1]["result"]
    assert (last["kind"], state(last)) == ("status-update", "working")


async def test_receivers_are_notified_of_what_people_say_and_of_the_return(at_desk: AtDesk, served: A2AServed) -> None:
    config = {"taskId": at_desk.id, "pushNotificationConfig": {"url": "https://client.example/hook"}}
    await served.call("tasks/pushNotificationConfig/set", config)
    served.harness.push_queue.sent.clear()
    await at_desk.harness.take()
    await at_desk.harness.reply("I am here.", "p1")
    await at_desk.harness.hand_back()
    bodies = [v03.Task.model_validate_json(posted.body) for posted in await work_off(served)]
    assert [body.status.state.value for body in bodies] == ["working", "working", "completed"]
    assert "I am here." in bodies[-1].model_dump_json()
