"""Questions whether calls may be made."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from baton_slack import Job, SqliteStorage
from baton_slack.approvals import Approvals
from tests.slack_channel.conftest import configuration


async def test_a_repeated_question_leaves_the_decision_as_it_is() -> None:
    async def post(*arguments: Any) -> str:
        return "1790000000.000100"

    records = SqliteStorage(":memory:")
    parts = SimpleNamespace(post=post), None, records, configuration(), SimpleNamespace(get_link=lambda thread_id: None)
    approvals = Approvals(*cast("Any", parts))
    data = {"threadId": "t", "runId": "r", "interrupts": [{"id": "i1", "message": "Delete it?"}]}
    job = Job("evt_1", "baton:t", "approval.requested", {"data": data})
    await approvals.request(job)
    request = records.get("approval:r")
    assert request == {"threadId": "t", "channel": "C0APPROVE", "interrupts": ["i1"]}
    records.put("approval:r", {**request, "decision": "Anna has approved it."})
    await approvals.request(job)
    assert records.get("approval:r") == {**request, "decision": "Anna has approved it."}
    data["interrupts"] = [{"id": "i2", "message": "Delete it?"}]
    await approvals.request(job)
    assert records.get("approval:r") == {**request, "interrupts": ["i2"]}
    records.close()
