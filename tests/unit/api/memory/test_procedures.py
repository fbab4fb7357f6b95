"""Procedures over HTTP: write, decide, find, and who may."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import pytest

from baton.domain.errors import StoreUnavailable
from baton.domain.memory.procedure import ProcedureDecision, ProcedureSource, ProcedureStatus
from baton.domain.tenants.identity import Scope
from tests.harness.harness import Harness
from tests.unit.api.served import Served

APPROVE = "procedure:approve"
PATH = "/agents/assistant/procedures"
ALERT: dict[str, Any] = {
    "name": "Slack Alert",
    "description": "Posts an alert to a Slack channel.",
    "triggers": ["send slack alert"],
    "steps": [{"text": "Ask for the channel.", "condition": "skip if the user has named one"}, {"text": "Post it."}],
    "allowedTools": ["slack_post"],
}
MARKDOWN = """\
---
name: Slack Alert
description: Posts an alert to a Slack channel.
triggers:
- send slack alert
allowed-tools:
- slack_post
---

1. Ask for the channel.
   (skip if the user has named one)
2. Post it.
"""


@pytest.fixture
def served() -> Served:
    return Served(Harness(recalls=True))


async def create(served: Served, user: str = "ada", **changes: Any) -> dict[str, Any]:
    answer = await served.post(PATH, {**ALERT, **changes}, "skill:create", user=user)
    assert answer.status_code == 201, answer.text
    results: dict[str, Any] = answer.json()
    return results


async def approve(served: Served, **changes: Any) -> dict[str, Any]:
    procedure = await create(served, **changes)
    return (await decide(served, "approve", procedure["id"], procedure["version"])).raise_for_status().json()  # type: ignore[no-any-return]


async def decide(
    served: Served, action: str, procedure_id: str = "slack-alert", version: int = 1, user: str = "bob", **more: Any
) -> httpx.Response:
    return await served.post(f"{PATH}/{procedure_id}/{action}", {"version": version, **more}, APPROVE, user=user)


async def send(
    served: Served, method: str, path: str, *permissions: str, user: str = "bob", **request: Any
) -> httpx.Response:
    async with served._client(user, *permissions) as client:
        return await client.request(method, path, **request)


def problem(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


@pytest.mark.parametrize("body", [None, {}])
async def test_an_approval_that_names_no_version_is_for_the_newest(served: Served, body: dict[str, Any] | None) -> None:
    await create(served)
    await decide(served, "approve")
    await create(served, description="The second one.")
    answer = await send(served, "POST", f"{PATH}/slack-alert/approve", APPROVE, json=body)
    assert (answer.json()["version"], answer.json()["status"]) == (2, "approved")
    assert problem(await send(served, "POST", f"{PATH}/never-made/approve", APPROVE, json=body))[0] == 404


async def test_an_approval_of_one_of_several_pending_versions_names_it(served: Served) -> None:
    await create(served)
    await create(served, description="A version that came after the approver had read the first one.")
    refused = await send(served, "POST", f"{PATH}/slack-alert/approve", APPROVE, json={})
    assert problem(refused) == (422, "invalid_request")
    approved = await decide(served, "approve", version=1)
    assert (approved.json()["version"], approved.json()["status"]) == (1, "approved")


async def test_a_procedure_is_written_approved_and_followed(served: Served) -> None:
    procedure = await create(served)
    assert procedure == {
        **ALERT,
        "id": "slack-alert",
        "agentId": "assistant",
        "scope": "agent",
        "version": 1,
        "status": "pending",
        "steps": [ALERT["steps"][0], {"text": "Post it.", "condition": None}],
        "source": None,
        "createdBy": "ada",
        "createdAt": procedure["createdAt"],
        "decidedBy": None,
        "decidedAt": None,
        "reason": None,
        "used": 0,
        "wentWell": 0,
    }
    await served.harness.say("m1", "Send a Slack alert")
    assert "Slack Alert" not in str(served.harness.model.requests[-1].contents)
    decided = (await decide(served, "approve")).raise_for_status().json()
    assert (decided["status"], decided["decidedBy"]) == ("approved", "bob")
    served.harness.clock.advance(61)
    await served.harness.say("m2", "Send a Slack alert")
    assert "1. Ask for the channel." in str(served.harness.model.requests[-1].contents)
    await send(served, "DELETE", f"{PATH}/slack-alert", APPROVE, params={"version": 1})
    served.harness.clock.advance(61)
    await served.harness.say("m3", "Send a Slack alert")
    assert "1. Ask for the channel." not in str(served.harness.model.requests[-1].contents)


async def test_a_procedure_of_the_tenant_is_followed_by_the_agent_and_listed_under_each(served: Served) -> None:
    procedure = await approve(served, scope="tenant")
    assert (procedure["id"], procedure["scope"]) == ("tenant.slack-alert", "tenant")
    await served.harness.say("m1", "Send a Slack alert")
    assert "1. Ask for the channel." in str(served.harness.model.requests[-1].contents)
    for agent_id, permission in (("assistant", ""), ("librarian", "archive:read")):
        items, _ = await served.items(f"/agents/{agent_id}/procedures", permission)
        assert [item["id"] for item in items] == ["tenant.slack-alert"]


async def test_an_approval_is_audited_with_who_decided(served: Served) -> None:
    await approve(served)
    await create(served, description="Better.")
    (await decide(served, "reject", version=2, reason="Too\nvague.", user="eve")).raise_for_status()
    results = [
        (record.action, record.outcome, record.scope.user_id, record.detail) for record in served.harness.audit.records
    ]
    one = {"procedure": "slack-alert", "version": 1, "agentId": "assistant"}
    two = {**one, "version": 2}
    assert results == [
        ("procedure.create", "pending", "ada", one),
        ("procedure.approve", "approved", "bob", one),
        ("procedure.create", "pending", "ada", two),
        ("procedure.reject", "rejected", "eve", {**two, "reason": "Too vague."}),
    ]


@pytest.mark.parametrize("answers_late", [False, True])
async def test_an_approval_that_dies_on_the_way_is_finished_by_its_repetition(
    monkeypatch: pytest.MonkeyPatch, served: Served, answers_late: bool
) -> None:
    await approve(served, description="The former.")
    await create(served)
    decided = served.harness.procedures.decide

    async def fail_to_store(
        scope: Scope, agent_id: str, procedure_id: str, version: int, decision: ProcedureDecision, **read: Any
    ) -> None:
        if answers_late:
            await decided(scope, agent_id, procedure_id, version, decision, **read)
        raise StoreUnavailable

    monkeypatch.setattr(served.harness.procedures, "decide", fail_to_store)
    assert problem(await decide(served, "approve", version=2)) == (503, "store_unavailable")
    in_use = await served.harness.procedures.approved(served.harness.ada, "assistant")
    assert [item.version for item in in_use] == [2 if answers_late else 1]
    monkeypatch.undo()
    for _ in range(2):
        assert (await decide(served, "approve", version=2)).json()["status"] == "approved"
    in_use = await served.harness.procedures.approved(served.harness.ada, "assistant")
    assert [item.version for item in in_use] == [2]
    records = [record for record in served.harness.audit.records if record.action == "procedure.approve"]
    assert [record.detail["version"] for record in records] == [1, 2]


async def test_of_two_deciders_the_second_learns_who_was_first(served: Served) -> None:
    await create(served)
    (await decide(served, "approve", user="bob")).raise_for_status()
    refused = await decide(served, "reject", user="eve", reason="No.")
    assert problem(refused) == (409, "procedure_changed")
    assert "approved by bob" in refused.json()["detail"]
    assert problem(await decide(served, "approve", version=2)) == (404, "unknown_procedure")
    assert problem(await decide(served, "approve", procedure_id="nothing")) == (404, "unknown_procedure")


async def test_a_change_makes_a_pending_version_from_the_newest_one_only(served: Served) -> None:
    await approve(served)
    changed = {**ALERT, "description": "Better.", "version": 1}
    for _ in range(2):  # a repetition changes nothing
        answer = await send(served, "PUT", f"{PATH}/slack-alert", APPROVE, json=changed)
        assert (answer.json()["version"], answer.json()["status"]) == (2, "pending")
    stale = await send(served, "PUT", f"{PATH}/slack-alert", APPROVE, json={**changed, "description": "Worse."})
    assert problem(stale) == (409, "procedure_changed")
    renamed = await send(served, "PUT", f"{PATH}/slack-alert", APPROVE, json={**changed, "name": "X", "version": 2})
    assert problem(renamed) == (422, "invalid_request")
    whole = (await served.get(f"{PATH}/slack-alert", APPROVE)).json()
    assert (whole["version"], [version["version"] for version in whole["versions"]]) == (2, [2, 1])
    assert (await served.get(f"{PATH}/slack-alert", APPROVE, version=1)).json()["status"] == "approved"
    page = (await served.get(f"{PATH}/slack-alert", APPROVE, limit=1)).json()
    older = (await served.get(f"{PATH}/slack-alert", APPROVE, limit=1, cursor=page["nextCursor"])).json()
    assert ([version["version"] for version in older["versions"]], older["nextCursor"]) == ([1], None)


async def test_a_skill_md_is_imported_changed_and_exported(served: Served) -> None:
    as_file = {"Content-Type": "text/markdown; charset=utf-8"}
    instance = await send(served, "POST", PATH, "skill:create", content=MARKDOWN, headers=as_file)
    assert (instance.status_code, instance.json()["name"], instance.json()["status"]) == (201, "Slack Alert", "pending")
    exported = await send(served, "GET", f"{PATH}/slack-alert/SKILL.md", APPROVE)
    assert (exported.text, exported.headers["content-type"]) == (MARKDOWN, "text/markdown; charset=utf-8")
    accepted = await send(served, "GET", f"{PATH}/slack-alert", APPROVE, headers={"Accept": "text/markdown"})
    assert accepted.text == MARKDOWN
    better = MARKDOWN.replace("2. Post it.", "2. Post it at once.")
    changed = await send(
        served, "PUT", f"{PATH}/slack-alert", APPROVE, params={"version": 1}, content=better, headers=as_file
    )
    assert changed.json()["steps"][1]["text"] == "Post it at once."
    shared = await send(
        served, "POST", PATH, "skill:create", params={"scope": "tenant"}, content=MARKDOWN, headers=as_file
    )
    assert shared.json()["id"] == "tenant.slack-alert"


@pytest.mark.parametrize(
    ("content", "params", "code"),
    [
        (b"# nothing", {}, "invalid_request"),
        (b"\xff\xfe", {}, "invalid_request"),
        (MARKDOWN.replace("- send slack alert", "- (?=x)").encode(), {}, "invalid_request"),
        (b"x" * 70_000, {}, "invalid_request"),
        (MARKDOWN.encode(), {"scope": "world"}, "invalid_request"),
    ],
)
async def test_what_is_no_skill_md_is_refused(
    served: Served, content: bytes, params: dict[str, str], code: str
) -> None:
    headers = {"Content-Type": "text/markdown"}
    refused = await send(served, "POST", PATH, "skill:create", content=content, headers=headers, params=params)
    assert problem(refused) == (422, code)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"{", (400, "malformed_json")),
        (b"[" * 100_000, (400, "malformed_json")),
        (b"[]", (422, "invalid_request")),
        (b"{}", (422, "invalid_request")),
        (b'{"name": "X", "colour": "red"}', (422, "invalid_request")),
    ],
)
async def test_what_is_no_procedure_is_refused(served: Served, body: bytes, expected: tuple[int, str]) -> None:
    assert problem(await send(served, "POST", PATH, "skill:create", content=body)) == expected


@pytest.mark.parametrize(
    "wrong",
    [
        {"triggers": []},
        {"triggers": [".*"]},
        {"triggers": ["(?=x)"]},
        {"steps": []},
        {"steps": [{"text": " "}]},
        {"steps": [{"text": "Do it.", "when": "now"}]},
        {"name": "x" * 65},
        {"allowedTools": ["transfer_to_sales"]},
        {"scope": "world"},
        {"version": 1},
    ],
)
async def test_a_procedure_that_is_not_valid_is_refused(served: Served, wrong: dict[str, Any]) -> None:
    refused = await served.post(PATH, {**ALERT, **wrong}, "skill:create")
    assert problem(refused) == (422, "invalid_request")
    assert await served.items(PATH, APPROVE) == ([], None)


async def test_who_may_not_decide_reads_what_is_approved_only(served: Served) -> None:
    await create(served)
    for path, params in ((PATH, {"status": "pending"}), (PATH, {"status": ["approved", "rejected"]})):
        assert problem(await served.get(path, **params)) == (403, "forbidden")
    assert await served.items(PATH) == ([], None)
    for path in (f"{PATH}/slack-alert", f"{PATH}/slack-alert/SKILL.md"):
        assert problem(await served.get(path)) == (404, "unknown_procedure")
    await decide(served, "approve")
    await create(served, description="Better.")
    whole = (await served.get(f"{PATH}/slack-alert")).json()
    assert (whole["version"], [version["version"] for version in whole["versions"]]) == (1, [1])
    assert problem(await served.get(f"{PATH}/slack-alert", version=2)) == (404, "unknown_procedure")
    assert [item["version"] for item in (await served.items(PATH))[0]] == [1]
    assert [item["version"] for item in (await served.items(PATH, APPROVE))[0]] == [2, 1]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", PATH, ALERT),
        ("PUT", f"{PATH}/slack-alert", {**ALERT, "version": 1}),
        ("POST", f"{PATH}/slack-alert/approve", {"version": 1}),
        ("POST", f"{PATH}/slack-alert/reject", {"version": 1, "reason": "No."}),
        ("DELETE", f"{PATH}/slack-alert?version=1", None),
    ],
)
async def test_without_the_permission_nothing_is_written_and_that_is_audited(
    served: Served, method: str, path: str, body: Any
) -> None:
    await create(served)
    served.harness.audit.records.clear()
    refused = await send(served, method, path, json=body)
    assert problem(refused) == (403, "forbidden")
    [record] = served.harness.audit.records
    assert (record.outcome, record.detail["permission"]) == ("denied", APPROVE)
    assert [item["status"] for item in (await served.items(PATH, APPROVE))[0]] == ["pending"]


async def test_procedures_of_an_agent_that_the_caller_may_not_see_do_not_exist(served: Served) -> None:
    for path in ("/agents/librarian/procedures", "/agents/nobody/procedures"):
        assert problem(await served.get(path, APPROVE)) == (404, "unknown_agent")


async def test_another_tenant_finds_nothing(served: Served) -> None:
    await approve(served)
    served.harness.ada = Scope("globex", "ada")
    assert await served.items(PATH, APPROVE) == ([], None)
    assert await served.items("/skills") == ([], None)
    assert problem(await decide(served, "approve")) == (404, "unknown_procedure")
    answer = await served.post(f"{PATH}/match", {"query": "send slack alert"})
    assert answer.json()["items"] == []


async def test_a_message_can_be_tried(served: Served) -> None:
    await approve(served)
    await approve(served, name="Alert", triggers=["alert"], description="Alerts.")
    await create(served, name="Draft", triggers=["send slack alert"])
    tried = (await served.post(f"{PATH}/match", {"query": "Please send a Slack alert"})).raise_for_status().json()
    first, second = tried["items"]
    assert (first["id"], first["included"], first["ambiguous"], first["signals"]) == (
        "slack-alert",
        True,
        True,
        {"trigger": 1.0},
    )
    assert (second["id"], second["included"], second["ambiguous"]) == ("alert", False, True)
    assert "slack-alert comes first" in second["reason"]
    tried = (await served.post(f"{PATH}/match", {"query": "Posts to a Slack channel?", "limit": 1})).json()
    [only] = tried["items"]
    assert (only["id"], only["included"]) == ("slack-alert", True)
    assert only["signals"]["meaning"] == only["score"] > 0.5
    for wrong in ({}, {"query": " "}, {"query": "x", "limit": 0}, {"query": "x", "limit": 51}):
        assert problem(await served.post(f"{PATH}/match", wrong)) == (422, "invalid_request")


async def test_a_trial_says_why_meaning_was_not_compared(served: Served) -> None:
    await approve(served)
    served.harness.embedder.failure = StoreUnavailable()
    tried = (await served.post(f"{PATH}/match", {"query": "Hello"})).json()
    assert (tried["items"], tried["nextCursor"]) == ([], None)
    assert tried["error"] is not None


async def test_skills_are_the_approved_procedures_of_the_agents_that_the_caller_may_talk_to(served: Served) -> None:
    await approve(served)
    await approve(served, name="For all", scope="tenant")
    await create(served, name="Not yet")
    path = "/agents/librarian/procedures"
    response = (await served.post(path, {**ALERT, "name": "Archive"}, "skill:create", "archive:read")).json()
    body = {"version": response["version"]}
    (await served.post(f"{path}/archive/approve", body, APPROVE, "archive:read")).raise_for_status()
    page_items, _ = await served.items("/skills")
    assert [(item["agentId"], item["id"]) for item in page_items] == [
        ("assistant", "slack-alert"),
        ("assistant", "tenant.for-all"),
    ]
    page_items, _ = await served.items("/skills", "archive:read")
    assert sorted(item["id"] for item in page_items) == ["archive", "slack-alert", "tenant.for-all"]
    ids: list[str] = []
    cursor: str | None = None
    while True:
        page, cursor = await served.items("/skills", "archive:read", limit=1, **({"cursor": cursor} if cursor else {}))
        ids += [item["id"] for item in page]
        if cursor is None:
            break
    assert ids == [item["id"] for item in page_items]
    assert problem(await served.get("/skills", cursor="x")) == (422, "invalid_request")


async def test_there_is_a_limit_of_approved_procedures(monkeypatch: pytest.MonkeyPatch, served: Served) -> None:
    monkeypatch.setattr("baton.memory.procedures.approved_procedures.MAX_APPROVED", 1)
    await approve(served)
    await create(served, name="Second")
    assert problem(await decide(served, "approve", "second")) == (409, "too_many_procedures")
    await create(served, description="Better.")
    assert (await decide(served, "approve", version=2)).json()["status"] == "approved"


async def test_the_source_is_shown_to_those_who_decide(served: Served) -> None:
    procedure = await create(served)
    store = served.harness.procedures
    one = await store.get(served.harness.ada, "assistant", procedure["id"])
    assert one is not None

    captured = replace(
        one,
        draft=replace(one.draft, description="Captured."),
        source=ProcedureSource("t-1", run_id="r-1", message_ids=("m-1",)),
        status=ProcedureStatus.PENDING,
    )
    await store.put(served.harness.ada, captured)
    (await decide(served, "approve", version=2)).raise_for_status()
    source = {"threadId": "t-1", "runId": "r-1", "workflowId": None, "messageIds": ["m-1"]}
    assert (await served.get(f"{PATH}/slack-alert", APPROVE)).json()["source"] == source
    assert (await served.get(f"{PATH}/slack-alert")).json()["source"] is None
    assert [item["source"] for item in (await served.items("/skills"))[0]] == [None]
    for permissions, visible in (((APPROVE,), "t-1"), ((), None)):
        tried = (await served.post(f"{PATH}/match", {"query": "send slack alert"}, *permissions)).json()
        results = tried["items"][0]["source"]
        assert (results and results["threadId"]) == visible


async def test_writing_what_was_captured_already_does_not_show_its_source(served: Served) -> None:
    store, scope = served.harness.procedures, served.harness.ada
    await create(served)
    written = await store.get(scope, "assistant", "slack-alert")
    assert written is not None
    captured = replace(
        written,
        draft=replace(written.draft, name="Captured"),
        source=ProcedureSource("t-1", run_id="r-1", message_ids=("m-1",)),
    )
    await store.put(scope, captured)
    assert (await create(served, user="eve", name="Captured"))["source"] is None


async def test_who_has_read_another_state_changes_nothing(served: Served) -> None:
    await create(served)
    path = f"{PATH}/slack-alert"
    read = (await served.get(path, APPROVE)).headers["etag"]
    assert read == '"1-pending"'

    async def act(method: str, where: str, tag: str, **request: Any) -> httpx.Response:
        return await send(served, method, path + where, APPROVE, user="carol", headers={"If-Match": tag}, **request)

    approval = await send(served, "POST", f"{path}/approve", APPROVE, headers={"If-Match": read})
    assert approval.headers["etag"] == '"1-approved"'
    for answer in (
        await act("DELETE", "?version=1", read),
        await act("POST", "/reject", read, json={"reason": "Too vague."}),
        await act("PUT", "", read, json={**ALERT, "description": "Better.", "version": 1}),
        await act("POST", "/approve", read, json={}),
    ):
        assert problem(answer) == (412, "procedure_version_mismatch")
        assert answer.json()["detail"].startswith("Version 1 was approved by bob since you read it")
    assert (await served.get(path, APPROVE)).json()["status"] == "approved"
    headers = {"Content-Type": "text/markdown", "If-Match": '"1-approved"'}
    text = MARKDOWN.replace("Posts an", "Sends an")
    for _ in range(2):
        changed = await send(served, "PUT", path, APPROVE, user="carol", content=text, headers=headers)
        assert (changed.json()["version"], changed.headers["etag"]) == (2, '"2-pending"')
    late = await act("PUT", "", '"1-approved"', json={**ALERT, "description": "Late.", "version": 1})
    assert problem(late) == (412, "procedure_version_mismatch")
    assert "Version 2 was made by carol" in late.json()["detail"]
    assert problem(await act("POST", "/approve", '"2-pending"', json={"version": 1})) == (422, "invalid_request")
    assert problem(await act("POST", "/approve", "2", json={})) == (422, "invalid_request")
    assert (await act("POST", "/approve", "*", json={})).json()["status"] == "approved"


async def test_what_waits_in_the_whole_tenant_is_one_list(served: Served) -> None:
    await create(served)
    served.harness.clock.advance(1)
    await create(served, name="All", scope="tenant")
    served.harness.clock.advance(1)
    (await served.post("/agents/librarian/procedures", ALERT, APPROVE, "archive:read")).raise_for_status()
    waiting, _ = await served.items("/procedures", APPROVE)
    assert [item["id"] for item in waiting] == ["tenant.all", "slack-alert"]
    first, cursor = await served.items("/procedures", APPROVE, limit=1)
    rest, _ = await served.items("/procedures", APPROVE, limit=1, cursor=cursor)
    assert [item["id"] for item in [*first, *rest]] == ["tenant.all", "slack-alert"]
    (await decide(served, "approve")).raise_for_status()
    assert [item["id"] for item in (await served.items("/procedures", APPROVE, status="approved"))[0]] == [
        "slack-alert"
    ]
    hidden, _ = await served.items("/procedures", APPROVE, "archive:read")
    assert [item["agentId"] for item in hidden] == ["librarian", "assistant"]
    assert problem(await served.get("/procedures")) == (403, "forbidden")
