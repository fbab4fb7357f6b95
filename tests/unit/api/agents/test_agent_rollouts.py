"""A new version takes a share of new sessions, and is promoted or rolled back; running sessions keep theirs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from baton.composition.app import build
from baton.domain.errors import ModelUnavailable, UnknownAgent
from baton.tenants.tenant_copies import FRESH
from tests.harness.sessions import close
from tests.unit.api.authors import TUTOR
from tests.unit.api.rollouts import Rollout


@pytest.fixture
def rollout() -> Rollout:
    return Rollout()


async def test_a_running_conversation_keeps_its_version_for_its_session(rollout: Rollout) -> None:
    await rollout.put("Good.")
    assert await rollout.say() == "Good."
    await rollout.put("Better.")
    assert await rollout.say() == "Good."
    await close(rollout.harness)
    assert await rollout.say() == "Better."


async def test_an_agent_may_choose_the_latest_version_for_each_turn(rollout: Rollout) -> None:
    for prompt in ("Good.", "Better."):
        await rollout.authors.put("tutor", TUTOR | {"systemPrompt": prompt, "versionPolicy": "latest"})
        assert await rollout.say() == prompt


@pytest.mark.parametrize(("share", "answered_by"), [(0, {"Good."}), (50, {"Good.", "Better."}), (100, {"Better."})])
async def test_a_candidate_takes_its_share_of_new_conversations(
    rollout: Rollout, share: int, answered_by: set[str]
) -> None:
    await rollout.put("Good.")
    assert await rollout.put("Better.", share=share) == 200
    assert {await rollout.say(begins=True) for _ in range(12)} == answered_by
    assert await rollout.states() == [(2, "candidate", share), (1, "in_force", None)]


async def test_every_worker_chooses_the_same_version_for_a_session(rollout: Rollout) -> None:
    await rollout.put("Good.")
    await rollout.put("Better.", share=50)
    await rollout.say(begins=True)
    pinned = await rollout.read_thread()
    worker = build(rollout.harness.with_ports())
    agents = await worker.own_agents.in_session(rollout.harness.ada, replace(pinned, versions=None))
    assert {"tutor": agents["tutor"].version} == dict(pinned.pinned)


async def test_a_promoted_candidate_is_in_force_and_running_conversations_keep_theirs(rollout: Rollout) -> None:
    await rollout.put("Good.")
    assert await rollout.say() == "Good."
    await rollout.put("Better.", share=0)
    for _ in range(2):
        answer = await rollout.call("POST", "/promote", {"version": 2})
        assert answer == {"version": 2, "candidate": None, "share": None}
    assert await rollout.say() == "Good."
    assert await rollout.say(begins=True) == "Better."
    assert await rollout.states() == [(2, "in_force", None), (1, "former", None)]


async def test_a_withdrawn_candidate_leaves_running_conversations(rollout: Rollout) -> None:
    await rollout.put("Good.")
    await rollout.put("Worse.", share=100)
    assert await rollout.say() == "Worse."
    for _ in range(2):
        answer = await rollout.call("DELETE", "/candidate")
        assert answer == {"version": 1, "candidate": None, "share": None}
    assert await rollout.say() == "Good."
    assert await rollout.states() == [(2, "withdrawn", None), (1, "in_force", None)]
    await rollout.put("Better.")
    assert await rollout.states() == [(3, "in_force", None), (2, "withdrawn", None), (1, "former", None)]


async def test_a_rollback_takes_the_bad_version_away_from_running_conversations(rollout: Rollout) -> None:
    await rollout.put("Good.")
    good = rollout.harness.thread_id
    await rollout.say()
    await rollout.put("Worse.")
    await rollout.say(begins=True)
    change = await rollout.call("POST", "/rollback", {"version": 1})
    assert (change["version"], change["restores"]) == (3, 1)
    assert await rollout.say() == "Good."
    assert dict((await rollout.read_thread()).pinned) == {"tutor": 3}
    rollout.harness.thread_id = good
    await rollout.say()
    assert dict((await rollout.read_thread()).pinned) == {"tutor": 1}


async def test_a_repeated_rollback_leaves_the_version_in_force_to_its_conversations(rollout: Rollout) -> None:
    await rollout.put("Good.")
    await rollout.put("Worse.")
    for _ in range(2):
        await rollout.call("POST", "/rollback", {"version": 1})
    assert await rollout.say() == "Good."
    assert dict((await rollout.read_thread()).pinned) == {"tutor": 3}
    await rollout.put("Better.")
    assert await rollout.say() == "Good."
    assert await rollout.states() == [
        (4, "in_force", None),
        (3, "former", None),
        (2, "withdrawn", None),
        (1, "former", None),
    ]


async def test_a_rollback_to_the_version_in_force_ends_the_candidate(rollout: Rollout) -> None:
    await rollout.put("Good.")
    await rollout.put("Worse.", share=20)
    answer = await rollout.call("POST", "/rollback", {"version": 1})
    assert answer["isStored"] is False
    assert await rollout.states() == [(2, "withdrawn", None), (1, "in_force", None)]
    await rollout.call("POST", "/rollback", {"version": 1})
    records = [record for record in rollout.harness.audit.records if record.action == "agent.write"]
    assert [(record.outcome, dict(record.detail)) for record in records[2:]] == [
        ("withdrawn", {"agentId": "tutor", "version": 2, "restores": 1})
    ]


async def test_an_outdated_rollback_leaves_the_candidate_of_others(rollout: Rollout) -> None:
    for prompt in ("Good.", "Worse.", "Good."):
        await rollout.put(prompt)
    await rollout.put("Better.", share=20)
    path, body = "/agents/tutor/rollback", {"version": 1}
    refused = await rollout.authors.call("POST", path, json=body, headers={"If-Match": '"2"'})
    assert (refused.status_code, refused.json()["code"]) == (412, "agent_version_mismatch")
    assert "The version in force is 3" in refused.json()["detail"]
    assert (await rollout.states())[0] == (4, "candidate", 20)
    assert (await rollout.authors.call("POST", path, json=body, headers={"If-Match": '"3"'})).status_code == 200
    assert (await rollout.states())[0] == (4, "withdrawn", None)
    second_answer = await rollout.authors.call("POST", path, json=body, headers={"If-Match": '"2"'})
    assert second_answer.status_code == 200  # a repetition changes nothing


async def test_a_repeated_candidate_is_stored_once(rollout: Rollout) -> None:
    await rollout.put("Good.")
    for is_stored in (True, False):
        answer = await rollout.authors.put("tutor", TUTOR | {"systemPrompt": "Better."}, share=20)
        assert {name: answer.json()[name] for name in ("version", "share", "isStored")} == {
            "version": 2,
            "share": 20,
            "isStored": is_stored,
        }
    assert await rollout.states() == [(2, "candidate", 20), (1, "in_force", None)]
    assert await rollout.put("Better.", share=30) == 200
    assert (await rollout.states())[0] == (3, "candidate", 30)


async def test_an_agent_to_which_a_candidate_refers_is_not_deleted(rollout: Rollout) -> None:
    await rollout.authors.put("aide", TUTOR)
    await rollout.put("Good.")
    await rollout.authors.put("tutor", TUTOR | {"subAgents": ["aide"]}, share=10)
    refused = (await rollout.authors.call("DELETE", "/agents/aide")).json()
    assert refused["code"] == "agent_in_use"
    assert "tutor" in refused["detail"]
    await rollout.call("DELETE", "/candidate")
    assert (await rollout.authors.call("DELETE", "/agents/aide")).status_code == 204


async def test_a_candidate_is_promoted_by_the_rules_of_that_time(rollout: Rollout) -> None:
    await rollout.authors.put("aide", TUTOR | {"requiredPermissions": ["vip"]}, "vip")
    await rollout.put("Good.")
    await rollout.authors.put("tutor", TUTOR | {"subAgents": ["aide"]}, "vip", share=10)
    refused = await rollout.call("POST", "/promote", {"version": 2})  # by an author who lacks the permission
    assert refused["code"] == "invalid_agent"
    assert (await rollout.states())[0] == (2, "candidate", 10)


async def test_a_new_version_without_a_share_ends_the_candidate(rollout: Rollout) -> None:
    await rollout.put("Good.")
    await rollout.put("Worse.", share=20)
    await rollout.put("Better.")
    assert await rollout.states() == [(3, "in_force", None), (2, "former", None), (1, "former", None)]


async def test_a_share_is_changed_and_the_change_is_audited(rollout: Rollout) -> None:
    await rollout.put("Good.")
    await rollout.put("Better.", share=5)
    assert await rollout.call("PUT", "/share", {"version": 2, "share": 60}) == {
        "version": 1,
        "candidate": 2,
        "share": 60,
    }
    assert (await rollout.call("PUT", "/share", {"version": 1, "share": 60}))["code"] == "agent_version_mismatch"
    records = [record for record in rollout.harness.audit.records if record.action == "agent.write"]
    assert [(record.outcome, dict(record.detail)) for record in records[1:]] == [
        ("changed", {"agentId": "tutor", "version": 2, "share": 5}),
        ("shared", {"agentId": "tutor", "version": 2, "share": 60}),
    ]


async def test_a_repeated_request_audits_a_change_whose_record_was_lost_and_no_other(
    rollout: Rollout, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rollout.put("Good.")
    await rollout.put("Better.", share=5)
    before = len(rollout.harness.audit.records)
    with monkeypatch.context() as worker:
        worker.setattr(rollout.harness.audit, "record", None)  # it dies before the record
        with pytest.raises(TypeError):
            await rollout.call("PUT", "/share", {"version": 2, "share": 60})
    for _ in range(2):
        await rollout.call("PUT", "/share", {"version": 2, "share": 60})
        await rollout.call("PUT", "/share", {"version": 2, "share": 60}, user="bob")
    records = [(record.scope.user_id, record.outcome) for record in rollout.harness.audit.records[before:]]
    assert records == [("ada", "shared")]
    await rollout.call("POST", "/promote", {"version": 2})
    await rollout.call("POST", "/promote", {"version": 2})
    assert [record.outcome for record in rollout.harness.audit.records[before:]] == ["shared", "promoted"]


async def test_a_share_of_a_new_agent_is_refused(rollout: Rollout) -> None:
    assert await rollout.put("Good.", share=10) == 422


async def test_if_match_names_the_version_in_force(rollout: Rollout) -> None:
    await rollout.put("Good.")
    answer = await rollout.authors.put("tutor", TUTOR | {"systemPrompt": "Better."}, share=10)
    assert answer.headers["etag"] == '"1"'
    assert answer.json()["version"] == 2
    second_answer = await rollout.authors.put("tutor", TUTOR | {"systemPrompt": "Worse."}, headers={"If-Match": '"2"'})
    assert second_answer.json()["code"] == "agent_version_mismatch"


async def test_what_is_required_now_is_required_of_a_kept_version_too(rollout: Rollout) -> None:
    await rollout.put("Good.")
    await rollout.say()
    required = TUTOR | {"systemPrompt": "Better.", "requiredPermissions": ["vip"]}
    assert (await rollout.authors.put("tutor", required, "vip")).status_code == 200
    with pytest.raises(UnknownAgent):
        await rollout.say()


async def test_an_agent_that_is_deleted_while_conversations_keep_it_no_longer_exists(rollout: Rollout) -> None:
    await rollout.put("Good.")
    await rollout.say()
    await rollout.authors.call("DELETE", "/agents/tutor")
    with pytest.raises(UnknownAgent):
        await rollout.say()
    await rollout.put("Better.")
    assert await rollout.say() == "Better."


async def test_a_version_whose_record_is_gone_is_replaced_by_the_one_in_force(rollout: Rollout) -> None:
    await rollout.put("Good.")
    await rollout.say()
    await rollout.put("Better.")
    store: Any = rollout.harness.agent_definitions
    del store._versions["acme"]["tutor", 1]
    assert await rollout.say() == "Better."


async def test_a_worker_with_an_older_list_follows_the_session(rollout: Rollout) -> None:
    await rollout.put("Good.")
    await rollout.say()
    own = rollout.harness.app.own_agents
    await own.of(rollout.harness.ada)
    await rollout.put("Better.")
    rollout.harness.clock.advance(2)
    thread = await rollout.read_thread()
    agents = await own.in_session(rollout.harness.ada, replace(thread, versions=thread.with_pinned({"tutor": 2})))
    assert agents["tutor"].version == 2


async def test_a_session_that_knew_a_deleted_agent_does_not_ask_for_a_newer_list(
    rollout: Rollout, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rollout.put("Good.")
    await rollout.say()
    thread = await rollout.read_thread()
    await rollout.authors.call("DELETE", "/agents/tutor")
    own = rollout.harness.app.own_agents
    await own.of(rollout.harness.ada, since=timedelta(0))
    rollout.harness.clock.advance(2)
    monkeypatch.setattr(rollout.harness.agent_definitions, "list", None)
    assert await own.in_session(rollout.harness.ada, thread) == {}


async def test_a_fork_keeps_the_versions_of_its_conversation(rollout: Rollout) -> None:
    await rollout.put("Good.")
    await rollout.say()
    await rollout.put("Better.")
    fork = await rollout.served.post(f"/threads/{rollout.harness.thread_id}/fork", {"agentId": "tutor"})
    rollout.harness.thread_id = fork.json()["id"]
    assert await rollout.say() == "Good."


async def test_agents_of_the_same_name_in_two_tenants_have_versions_of_their_own(rollout: Rollout) -> None:
    await rollout.put("Good.")
    await rollout.authors.put("tutor", TUTOR | {"systemPrompt": "Worse."}, tenant="globex")
    await rollout.authors.put("tutor", TUTOR | {"systemPrompt": "Better."}, tenant="globex", share=100)
    assert await rollout.say() == "Good."
    other = await rollout.authors.call("POST", "/agents/tutor/promote", tenant="acme", json={"version": 2})
    assert other.json()["code"] == "agent_version_mismatch"


async def test_figures_stand_beside_each_other_by_version(rollout: Rollout) -> None:
    await rollout.put("Good.")
    await rollout.say(begins=True)
    await rollout.put("Worse.")
    rollout.harness.model.script(ModelUnavailable())
    rollout.harness.clock.advance(FRESH.total_seconds())
    rollout.harness.thread_id = rollout.harness.clock.new_id()
    await rollout.harness.say("m9", "Hello", agent_id="tutor")
    await rollout.say()
    [answer] = [m for m in await rollout.read_messages() if m["role"] == "assistant"][-1:]
    path = f"/threads/{rollout.harness.thread_id}/messages/{answer['id']}/feedback"
    assert (await rollout.served.post(path, {"rating": "down"})).status_code == 200
    figures = (await rollout.call("GET", "/figures"))["items"]
    assert [(item["version"], item["turns"], item["failures"], item["downs"]) for item in figures] == [
        (2, 2, 1, 1),
        (1, 1, 0, 0),
    ]
