"""Cards of approvals over HTTP: in the run of an AG-UI client of either line, and in the thread after a reload."""

from __future__ import annotations

import json

import pytest

from baton.domain.runs.tool_call import ToolCall
from tests.fakes.chat_model import Answer
from tests.harness.shop import shop
from tests.unit.api.resuming import events_of
from tests.unit.api.served import Served


@pytest.mark.parametrize(("version", "reason"), [("1.0", "tool_approval"), (None, "tool_call")])
async def test_a_run_and_the_thread_after_a_reload_have_the_same_card(version: str | None, reason: str) -> None:
    served = Served(shop())
    arguments = {"kind": "ebike", "day": "2026-12-05", "note": "Ring"}
    served.harness.model.script(Answer.calling(ToolCall("call-1", "book", json.dumps(arguments))))
    question = {"id": "m1", "role": "user", "content": "Book it."}
    body = {"threadId": served.harness.thread_id, "runId": "r-1", "messages": [question], "tools": [], "context": []}
    body |= {"state": {}, "forwardedProps": {}} | ({"protocolVersion": version} if version else {})
    events = events_of(await served.post("/runs", body))
    [interrupt] = events[-1]["outcome"]["interrupts"]
    assert (interrupt["reason"], interrupt["message"]) == (reason, "Book 1 days of e-bike from 5 December 2026?")
    card = interrupt["metadata"]
    assert card["label"] == "Bike booking"
    assert [(field["label"], field["text"]) for field in card["fields"] if not field["inText"]] == [("Note", "Ring")]
    thread = (await served.get(f"/threads/{served.harness.thread_id}")).json()
    assert thread["interrupts"] == [interrupt | {"reason": "tool_approval"}]
