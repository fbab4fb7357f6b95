"""Completed workflows over HTTP: one's own, and those of the tenant for readers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.harness.desk import Desk
from tests.harness.handoffs import advance
from tests.unit.api.served import Served


async def complete_workflow() -> tuple[Served, Desk]:
    """Ada's workflow is completed."""
    desk = Desk()
    await desk.reach_the_end(advance("DONE"), "It is number 1.")
    return Served(desk.harness), desk


async def test_one_s_own_completed_workflows_have_data_and_result() -> None:
    served, desk = await complete_workflow()
    [workflow], _ = await served.items("/workflows/completed")
    assert {name: workflow[name] for name in ("agentId", "userId", "threadId", "name", "state", "data", "result")} == {
        "agentId": "maker",
        "userId": "ada",
        "threadId": desk.harness.thread_id,
        "name": "your Box",
        "state": "DONE",
        "data": {"ASK": {"name": "Box"}},
        "result": "Number 1.",
    }
    assert (await served.items("/workflows"))[0] == []
    assert (await served.items("/workflows/completed", user="bob"))[0] == []


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({}, 1),
        ({"userId": "ada", "agentId": "maker", "state": "done"}, 1),
        ({"userId": "bob"}, 0),
        ({"agentId": "helper"}, 0),
        ({"state": "GONE"}, 0),
        ({"to": "2001-01-01T00:00:00Z"}, 0),
    ],
)
async def test_those_of_the_tenant_are_for_readers_of_its_conversations_and_audited(
    filters: dict[str, Any], count: int
) -> None:
    served, desk = await complete_workflow()
    page, _ = await served.items(
        "/workflows/completed", "thread:read_all", "pii:read", user="eve", scope="tenant", **filters
    )
    assert len(page) == count
    [record] = [record for record in desk.harness.audit.records if record.action == "workflow.list"]
    assert (record.scope.user_id, record.outcome) == ("eve", "allowed")
    assert (await served.get("/workflows/completed", user="eve", scope="tenant")).status_code == 403
    refused = await served.get("/workflows/completed", user="eve", userId="ada")
    assert (refused.status_code, "userId: it needs scope=tenant" in refused.text) == (422, True)


async def test_readers_without_pii_read_get_placeholders_for_what_others_have_said() -> None:
    desk = Desk()
    await desk.reach_the_end(advance("ASK"), advance("BUILD", name="ada@example.com"), advance("DONE"), "Done.")
    served = Served(desk.harness)
    path, permissions = "/workflows/completed", ("thread:read_all",)
    [workflow], _ = await served.items(path, *permissions, user="eve", scope="tenant")
    assert "ada@example.com" not in json.dumps(workflow)
    [workflow], _ = await served.items(path, *permissions, "pii:read", user="eve", scope="tenant")
    assert workflow["data"] == {"ASK": {"name": "ada@example.com"}}


async def test_an_export_of_the_user_has_them() -> None:
    served, _ = await complete_workflow()
    lines = (await served.get("/users/me/export")).text.splitlines()
    [line] = [json.loads(line) for line in lines if '"completedWorkflow"' in line]
    assert (line["state"], line["data"], line["result"]) == ("DONE", {"ASK": {"name": "Box"}}, "Number 1.")
