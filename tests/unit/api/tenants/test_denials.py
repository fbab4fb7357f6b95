"""A permission that is missing is refused, and written down once."""

from __future__ import annotations

import pytest

from tests.unit.api.served import Served


@pytest.fixture
def served() -> Served:
    return Served()


@pytest.mark.parametrize(
    ("path", "params", "status", "action", "permission"),
    [
        ("/audit", {}, 403, "audit.read", "audit:read"),
        ("/threads", {"scope": "tenant"}, 403, "thread.list", "thread:read_all"),
        ("/agents/librarian", {}, 404, "agent.read", "archive:read"),
    ],
)
async def test_a_denial_is_audited_with_the_permission_that_was_missing(
    served: Served, path: str, params: dict[str, str], status: int, action: str, permission: str
) -> None:
    assert (await served.get(path, **params)).status_code == status
    [record] = served.harness.audit.records
    assert (record.scope.user_id, record.action, record.outcome, record.thread_id) == ("ada", action, "denied", None)
    assert record.detail["permission"] == permission


@pytest.mark.parametrize(
    ("path", "permission"), [("/threads", "thread:read_all"), ("/agents/librarian", "archive:read")]
)
async def test_what_is_permitted_and_nobody_elses_is_not_audited(served: Served, path: str, permission: str) -> None:
    assert (await served.get(path, permission)).status_code == 200
    assert served.harness.audit.records == []


async def test_a_denial_can_be_read_in_the_audit(served: Served) -> None:
    await served.get("/audit", user="eve")
    [item], _ = await served.items("/audit", "audit:read", outcome="denied")
    assert (item["userId"], item["threadId"], item["action"]) == ("eve", None, "audit.read")


async def test_an_agent_that_does_not_exist_is_audited_as_such(served: Served) -> None:
    """The answer then takes as long as that for a hidden agent."""
    assert (await served.get("/agents/nobody")).status_code == 404
    [record] = served.harness.audit.records
    assert (record.action, record.outcome, record.detail) == ("agent.read", "not_found", {"agentId": "nobody"})
