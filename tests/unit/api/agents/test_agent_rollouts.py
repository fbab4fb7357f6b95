"""A new version takes a share of new sessions, and is promoted or rolled back; running sessions keep theirs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from baton.composition.app import build
from baton.domain.errors import ModelUnavailable, UnknownAgent
from baton.domain.tenants.tenant_limits import DeploymentLimits
from baton.domain.threads.thread import Thread
from baton.domain.times import iso
from baton.tenants.tenant_copies import FRESH
from tests.harness.harness import Harness
from tests.harness.sessions import close
from tests.unit.api.authors import TUTOR, Authors
from tests.unit.api.served import Served


def evaluation(harness: Harness, passed: float = 1.0, **fields: Any) -> dict[str, Any]:
    """The body that publishes an evaluation."""
    metric = {"name": "passed", "mean": passed, "low": 0.1, "high": 1.0, "runs": 10, "notJudged": 0, "isRate": True}
    case = {"name": "Refund", "runs": 10, "judged": 10, "passes": 9, "metrics": {}, "reasons": [], "tags": []}
    numbers = {"beganAt": iso(harness.clock.now()), "seconds": 1.5}
    named = {"name": "5d0ad1c6d1b0", "label": "my-shop", "model": "gpt-6-luna"}
    return {**named, **numbers, "metrics": [metric], "cases": [case], **fields}


class Rollout:
    """The tutor of a tenant in versions, and conversations with it."""

    def __init__(self, **limits: Any) -> None:
        self.harness = Harness()
        self.harness.deployment_limits = DeploymentLimits(**limits)
        self.served = Served(self.harness)
        self.authors = Authors(self.served)
        self._messages = 0

    async def put(self, prompt: str, **query: Any) -> int:
        """Store a version with this prompt; return the status."""
        return (await self.authors.put("tutor", TUTOR | {"systemPrompt": prompt}, **query)).status_code

    async def call(self, method: str, path: str, body: Any = None, user: str = "ada") -> Any:
        """Change the agent; return the answer's body."""
        return (await self.authors.call(method, f"/agents/tutor{path}", user=user, json=body)).json()

    async def say(self, *, begins: bool = False) -> str:
        """Say something after the workers' copies have become old. Return the prompt of the agent that answered."""
        self.harness.clock.advance(FRESH.total_seconds())
        if begins:
            self.harness.thread_id = self.harness.clock.new_id()
        self._messages += 1
        await self.harness.say(f"m{self._messages}", "Hello", agent_id="tutor")
        asked = str(self.harness.model.asked[-1])
        return next(prompt for prompt in ("Worse.", "Better.", "Good.") if prompt in asked)

    async def read_thread(self) -> Thread:
        """Return the conversation."""
        return await self.harness.store.get_thread(self.harness.ada, self.harness.thread_id)

    async def read_messages(self) -> list[Any]:
        """Return the messages of the conversation."""
        return (await self.served.items(f"/threads/{self.harness.thread_id}/messages"))[0]

    async def states(self) -> list[tuple[int, str, int | None]]:
        """The versions with their states and shares, the newest first."""
        items = (await self.call("GET", "/versions"))["items"]
        return [(item["version"], item["state"], item["share"]) for item in items]


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
    worker = build(rollout.harness.but())
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
    await rollout.call("POST", "/rollback", {"version": 1})
    assert await rollout.say() == "Good."
    assert dict((await rollout.read_thread()).pinned) == {"tutor": 3}
    rollout.harness.thread_id = good
    await rollout.say()
    assert dict((await rollout.read_thread()).pinned) == {"tutor": 1}


async def test_a_rollback_to_the_version_in_force_ends_the_candidate(rollout: Rollout) -> None:
    await rollout.put("Good.")
    await rollout.put("Worse.", share=20)
    answer = await rollout.call("POST", "/rollback", {"version": 1})
    assert answer["isStored"] is False
    assert await rollout.states() == [(2, "withdrawn", None), (1, "in_force", None)]


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


async def test_a_share_of_a_new_agent_is_refused(rollout: Rollout) -> None:
    assert await rollout.put("Good.", share=10) == 422


async def test_if_match_names_the_version_in_force(rollout: Rollout) -> None:
    await rollout.put("Good.")
    answer = await rollout.authors.put("tutor", TUTOR | {"systemPrompt": "Better."}, share=10)
    assert answer.headers["etag"] == '"1"'
    assert answer.json()["version"] == 2
    again = await rollout.authors.put("tutor", TUTOR | {"systemPrompt": "Worse."}, headers={"If-Match": '"2"'})
    assert again.json()["code"] == "agent_version_mismatch"


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


# The gate


async def test_a_deployment_may_ask_for_an_evaluation_before_a_version_takes_more() -> None:
    rollout = Rollout(agent_evaluation=0.8)
    assert await rollout.put("Good.") == 201
    for query in ({}, {"share": 11}):
        assert await rollout.put("Better.", **query) == 409
    assert await rollout.put("Better.", share=10) == 200
    for change in (("PUT", "/share", {"version": 2, "share": 11}), ("POST", "/promote", {"version": 2})):
        refused = await rollout.call(*change)
        assert refused["code"] == "evaluation_required"
        assert "baton eval --agent tutor --version 2" in refused["detail"]
    await rollout.call("PUT", "/share", {"version": 2, "share": 3})  # less is always allowed
    await publish(rollout, 0.7)
    refused = await rollout.call("POST", "/promote", {"version": 2})
    assert "70.0% of the runs passed" in refused["detail"]
    rollout.harness.clock.advance(1)
    await publish(rollout, 0.9)
    assert (await rollout.call("GET", "/versions"))["items"][0]["evaluation"]["passed"] == 0.9
    assert (await rollout.call("POST", "/promote", {"version": 2}))["version"] == 2


async def test_an_override_names_its_reason_in_the_audit() -> None:
    rollout = Rollout(agent_evaluation=0.8)
    await rollout.put("Good.")
    await rollout.put("Better.", share=10)
    await rollout.call("POST", "/promote", {"version": 2, "override": "Outage of the judge"})
    record = next(record for record in rollout.harness.audit.records if record.outcome == "promoted")
    assert record.detail["override"] == "Outage of the judge"


async def test_an_evaluation_names_a_version_that_exists(rollout: Rollout) -> None:
    await rollout.put("Good.")
    sent = evaluation(rollout.harness, agentId="tutor", agentVersion=2)
    assert (await rollout.served.post("/evaluations", sent, "agent:write")).json()["code"] == "unknown_agent_version"
    sent = evaluation(rollout.harness, agentId="tutor")
    assert (await rollout.served.post("/evaluations", sent, "agent:write")).status_code == 422


async def publish(rollout: Rollout, passed: float) -> None:
    """Publish an evaluation of version 2."""
    sent = evaluation(rollout.harness, passed, agentId="tutor", agentVersion=2)
    assert (await rollout.served.post("/evaluations", sent, "agent:write")).status_code == 201
