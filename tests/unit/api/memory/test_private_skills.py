"""Private skills over HTTP: read, offered, shared, declined and removed, and what of it is audited."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from baton.domain.memory.procedure import Procedure, parse_draft
from baton.domain.tenants.identity import Scope
from tests.harness.harness import Harness
from tests.unit.api.served import Served

APPROVE = "procedure:approve"
PATH = "/agents/assistant/procedures"
MINE = f"{PATH}/user.slack-alert"
FIELDS: dict[str, Any] = {
    "name": "Slack Alert",
    "description": "Posts an alert.",
    "triggers": ["send slack alert"],
    "steps": [{"text": "Post it."}],
}


@pytest.fixture
async def served() -> Served:
    """Ada has made a skill."""
    served = Served(Harness(recalls=True))
    await save(served)
    return served


async def save(served: Served, user: str = "ada", agent_id: str = "assistant", **changes: Any) -> None:
    harness = served.harness
    procedure = Procedure(parse_draft(FIELDS | changes), "acme", agent_id, user, harness.clock.now())
    await harness.private_skills.save(Scope("acme", user), procedure, made_of=harness.clock.new_id())


async def send(
    served: Served, method: str, path: str, *permissions: str, user: str = "ada", **request: Any
) -> httpx.Response:
    async with served._client(user, *permissions) as client:
        return await client.request(method, path, **request)


async def share(served: Served, user: str = "bob", **more: Any) -> httpx.Response:
    body = {"userId": "ada", "version": 1, **more}
    return await send(served, "POST", f"{MINE}/share", APPROVE, user=user, json=body)


def problem(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


async def test_a_maker_reads_lists_and_exports_their_own(served: Served) -> None:
    own = (await served.get(MINE)).json()
    assert (own["id"], own["scope"], own["status"], own["createdBy"], own["source"]) == (
        "user.slack-alert",
        "user",
        "private",
        "ada",
        None,
    )
    assert own["versions"] == [{name: value for name, value in own.items() if name not in ("versions", "nextCursor")}]
    assert "1. Post it." in (await served.get(f"{MINE}/SKILL.md")).text
    assert [skill["id"] for skill in (await served.items("/skills"))[0]] == ["user.slack-alert"]
    assert [skill["id"] for skill in (await served.items("/skills", scope="user"))[0]] == ["user.slack-alert"]
    assert await served.items("/skills", scope="agent") == ([], None)
    matched = (await served.post(f"{PATH}/match", {"query": "send slack alert"})).json()["items"]
    assert [(skill["id"], skill["included"]) for skill in matched] == [("user.slack-alert", True)]
    assert problem(await served.get(MINE, version=2)) == (404, "unknown_procedure")


@pytest.mark.parametrize("permissions", [(), (APPROVE,)])
async def test_a_private_skill_does_not_exist_for_others(served: Served, permissions: tuple[str, ...]) -> None:
    for path in (MINE, f"{MINE}/SKILL.md"):
        assert problem(await served.get(path, *permissions, user="bob")) == (404, "unknown_procedure")
        named = await served.get(path, *permissions, user="bob", userId="ada")
        assert problem(named) == ((404, "unknown_procedure") if permissions else (403, "forbidden"))
    assert (await served.get("/skills", *permissions, user="bob")).json()["items"] == []
    assert (await served.get(PATH, *permissions, user="bob")).json()["items"] == []
    matched = await served.post(f"{PATH}/match", {"query": "send slack alert"}, *permissions, user="bob")
    assert matched.json()["items"] == []
    for method, path in (("DELETE", f"{MINE}?version=1"), ("POST", f"{MINE}/offer"), ("DELETE", f"{MINE}/offer")):
        assert problem(await send(served, method, path, *permissions, user="bob"))[0] == 404
    if permissions:
        assert problem(await share(served)) == (404, "unknown_procedure")


async def test_an_offer_is_read_and_shared_and_a_repetition_changes_nothing(served: Served) -> None:
    for _ in range(2):
        assert (await send(served, "POST", f"{MINE}/offer")).json()["status"] == "offered"
    [offered] = (await served.items("/procedures", APPROVE, status="offered"))[0]
    assert (offered["createdBy"], offered["steps"][0]["text"]) == ("ada", "Post it.")
    assert (await served.get(MINE, APPROVE, user="bob", userId="ada")).json()["status"] == "offered"
    answers = [(await share(served)).json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert (answers[0]["id"], answers[0]["version"], answers[0]["createdBy"]) == ("slack-alert", 1, "bob")
    assert problem(await share(served, user="eve")) == (404, "unknown_procedure")
    assert (await served.items("/procedures", APPROVE, status="offered"))[0] == []
    assert [skill["id"] for skill in (await served.items("/skills"))[0]] == ["slack-alert"]
    assert (await served.get(MINE)).json()["status"] == "shared"
    one = {"version": 1, "agentId": "assistant"}
    mine, theirs = one | {"procedure": "user.slack-alert"}, one | {"procedure": "slack-alert"}
    acts = [
        (record.action, record.outcome, record.scope.user_id, record.detail) for record in served.harness.audit.records
    ]
    shared = theirs | {"userId": "ada", "skill": "user.slack-alert", "skillVersion": 1}
    assert [act for act in acts if act[1] != "denied"] == [
        ("skill.offer", "offered", "ada", mine),
        ("procedure.share", "approved", "bob", shared),
    ]


async def test_an_offer_is_withdrawn_or_declined_with_a_reason(served: Served) -> None:
    await send(served, "POST", f"{MINE}/offer", json={"version": 1})
    assert (await send(served, "DELETE", f"{MINE}/offer")).json()["status"] == "private"
    decline = {"userId": "ada", "version": 1, "reason": "Ask\nfirst."}
    refused = await send(served, "POST", f"{MINE}/decline", APPROVE, user="bob", json=decline)
    assert problem(refused) == (404, "unknown_procedure")
    served.harness.clock.advance(1)
    await send(served, "POST", f"{MINE}/offer")
    for _ in range(2):
        answer = await send(served, "POST", f"{MINE}/decline", APPROVE, user="bob", json=decline)
        assert (answer.json()["status"], answer.json()["reason"]) == ("private", "Ask first.")
    assert (await served.get(MINE)).json()["reason"] == "Ask first."
    acts = [(record.action, record.outcome) for record in served.harness.audit.records]
    assert acts == [
        ("skill.offer", "offered"),
        ("skill.withdraw", "private"),
        ("skill.offer", "offered"),
        ("procedure.decline", "declined"),
    ]


async def test_an_approved_procedure_is_replaced_only_if_it_is_named(served: Served) -> None:
    instance = FIELDS | {"description": "The administrator's."}
    for path, body in ((PATH, instance), (f"{PATH}/slack-alert/approve", {"version": 1})):
        (await send(served, "POST", path, APPROVE, user="bob", json=body)).raise_for_status()
    await send(served, "POST", f"{MINE}/offer")
    refused = await share(served)
    assert problem(refused) == (409, "procedure_name_taken")
    assert "Version 1 of slack-alert is approved (by bob)" in refused.json()["detail"]
    assert (await share(served, replaces=1)).json()["version"] == 2
    versions = (await served.get(f"{PATH}/slack-alert", APPROVE)).json()["versions"]
    assert [version["status"] for version in versions] == ["approved", "retired"]
    [record] = [record for record in served.harness.audit.records if record.action == "procedure.share"]
    assert record.detail["replaced"] == 1


async def test_an_approval_that_replaces_a_version_says_so_in_the_audit(served: Served) -> None:
    for number, description in enumerate(("One.", "Two."), 1):
        body = FIELDS | {"description": description}
        await send(served, "POST", PATH, APPROVE, user="bob", json=body)
        await send(served, "POST", f"{PATH}/slack-alert/approve", APPROVE, user="bob", json={"version": number})
    approvals = [record for record in served.harness.audit.records if record.action == "procedure.approve"]
    assert [approval.detail.get("replaced") for approval in approvals] == [None, 1]


async def test_what_was_made_again_is_not_shared_by_its_old_number(served: Served) -> None:
    await send(served, "POST", f"{MINE}/offer")
    await save(served, steps=[{"text": "Something else."}])
    assert problem(await share(served)) == (404, "unknown_procedure")  # it is not offered any more
    await send(served, "POST", f"{MINE}/offer")
    assert problem(await share(served)) == (409, "procedure_changed")
    assert problem(await send(served, "POST", f"{MINE}/offer", json={"version": 1})) == (409, "procedure_changed")
    assert (await share(served, version=2)).json()["steps"][0]["text"] == "Something else."


async def test_a_removed_skill_is_not_followed_any_more(served: Served) -> None:
    await served.harness.say("m1", "send slack alert")
    assert "Post it." in str(served.harness.model.requests[-1].contents)
    removed = await send(served, "DELETE", f"{MINE}?version=1")
    assert (removed.status_code, removed.json()["status"]) == (200, "retired")
    assert problem(await send(served, "DELETE", f"{MINE}?version=1")) == (404, "unknown_procedure")
    served.harness.clock.advance(1)
    served.harness.thread_id = served.harness.clock.new_id()
    await served.harness.say("m2", "send slack alert")
    assert "Post it." not in str(served.harness.model.requests[-1].contents)
    assert [record.action for record in served.harness.audit.records] == ["skill.remove"]


@pytest.mark.parametrize("action", ["share", "decline"])
async def test_sharing_and_declining_need_the_permission_and_a_refusal_is_audited(served: Served, action: str) -> None:
    await send(served, "POST", f"{MINE}/offer")
    body = {"userId": "ada", "version": 1} | ({"reason": "No."} if action == "decline" else {})
    for user in ("ada", "bob"):
        refused = await send(served, "POST", f"{MINE}/{action}", "skill:create", user=user, json=body)
        assert problem(refused) == (403, "forbidden")
    denied = [record for record in served.harness.audit.records if record.outcome == "denied"]
    assert {(refusal.action, refusal.detail["permission"]) for refusal in denied} == {(f"procedure.{action}", APPROVE)}
    assert (await served.get(MINE)).json()["status"] == "offered"


async def test_skills_of_agents_that_the_caller_may_not_see_are_not_listed(served: Served) -> None:
    await save(served, agent_id="librarian")
    assert [skill["agentId"] for skill in (await served.items("/skills"))[0]] == ["assistant"]
    assert len((await served.items("/skills", "archive:read"))[0]) == 2
    path = "/agents/librarian/procedures/user.slack-alert"
    assert problem(await send(served, "POST", f"{path}/offer")) == (404, "unknown_agent")
    await send(served, "POST", f"{path}/offer", "archive:read")
    assert (await served.items("/procedures", APPROVE, status="offered"))[0] == []


@pytest.mark.parametrize("status", ["private", "shared"])
async def test_no_list_of_private_skills_exists(served: Served, status: str) -> None:
    for path in (PATH, "/procedures"):
        assert problem(await served.get(path, APPROVE, status=status)) == (422, "invalid_request")
    assert problem(await served.get(PATH, APPROVE, status="offered")) == (422, "invalid_request")
