"""Messages to an A2A task that works: they enter its run, in both protocol lines' terms as a part of the task."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.harness.busy import BusyAgent, script_search
from tests.unit.api.a2a_client import A2AServed


def message(text: str, message_id: str, **fields: Any) -> dict[str, Any]:
    parts = [{"kind": "text", "text": text}]
    return {"kind": "message", "role": "user", "messageId": message_id, "parts": parts, **fields}


def texts(task: dict[str, Any]) -> list[str]:
    return [part["text"] for message in task["history"] for part in message["parts"] if part.get("text")]


@pytest.mark.parametrize("is_blocking", [False, True])
async def test_a_message_to_a_working_task_enters_its_run(monkeypatch: pytest.MonkeyPatch, is_blocking: bool) -> None:
    monkeypatch.setattr("baton.api.a2a.sending.START_SECONDS", 0.1)
    busy = BusyAgent(while_busy="steer")
    served = A2AServed(busy)
    busy.model.script(*script_search("Here are flights to Graz."))
    task = (await served.call("message/send", {"message": message("Find a flight.", "m1")}))["result"]
    await busy.searching.wait()
    busy.thread_id = task["contextId"]
    params = {"message": message("To Graz, please.", "m2", taskId=task["id"])}
    if is_blocking:
        params["configuration"] = {"blocking": True}
    sending = asyncio.ensure_future(served.call("message/send", params))
    await busy.wait_until_waiting("m2")
    busy.results_found.set()
    await sending
    await served.queue.wait_until_idle()
    task = (await served.call("tasks/get", {"id": task["id"]}))["result"]
    assert task["status"]["state"] == "completed"
    assert texts(task) == ["Find a flight.", "To Graz, please.", "Here are flights to Graz."]
    assert len(busy.model.requests) == 2
    assert await busy.list_waiting() == []


async def test_a_message_of_another_task_waits_for_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baton.api.a2a.sending.START_SECONDS", 0.1)
    busy = BusyAgent(while_busy="steer")
    served = A2AServed(busy)
    busy.model.script(*script_search("Three.", "Hello."))
    first = (await served.call("message/send", {"message": message("Find a flight.", "m1")}))["result"]
    await busy.searching.wait()
    busy.thread_id = first["contextId"]
    other = message("Something else.", "m2", contextId=first["contextId"])
    second = (await served.call("message/send", {"message": other}))["result"]
    busy.results_found.set()
    await served.queue.wait_until_idle()
    task = (await served.call("tasks/get", {"id": second["id"]}))["result"]
    assert texts(task) == ["Something else.", "Hello."]
