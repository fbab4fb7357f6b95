"""A deployment may ask for an evaluation before most new sessions use a version."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.api.authors import TUTOR
from tests.unit.api.rollouts import Rollout, evaluation, publish


@pytest.fixture
def rollout() -> Rollout:
    return Rollout()


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


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"notRun": 29}, "29 of its runs did not take place"),
        ({"metrics": [{"name": "judge", "mean": 1, "low": None, "high": None, "runs": 100}]}, "none of the runs"),
        ({"cases": [{"name": "Refund", "runs": 30, "judged": 1, "passes": 1}]}, "3.3% of the runs"),
        ({"cases": [{"name": "Refund", "runs": 30, "judged": 0, "passes": 0}]}, "0.0% of the runs"),
        (
            {
                "metrics": [{"name": "passed", "mean": 1, "low": 0.1, "high": 1, "runs": 30, "notJudged": 20}],
                "cases": [{"name": "Refund", "runs": 1, "judged": 1, "passes": 1}],
                "casesLeftOut": 49,
            },
            "60.0% of the runs",
        ),
    ],
)
async def test_an_evaluation_counts_only_if_all_runs_took_place_and_passed(fields: dict[str, Any], reason: str) -> None:
    rollout = Rollout(agent_evaluation=0.8)
    await rollout.put("Good.")
    await rollout.put("Better.", share=10)
    await publish(rollout, 1.0, **fields)
    refused = await rollout.call("POST", "/promote", {"version": 2})
    assert (refused["code"], reason in refused["detail"]) == ("evaluation_required", True), refused


@pytest.mark.parametrize("is_ended", [False, True])
async def test_a_version_that_was_never_in_force_is_not_rolled_back_to_without_an_evaluation(is_ended: bool) -> None:
    rollout = Rollout(agent_evaluation=0.9)
    await rollout.put("Good.")
    await rollout.put("Worse.", share=0)
    if is_ended:
        await rollout.call("DELETE", "/candidate")
    refused = await rollout.call("POST", "/rollback", {"version": 2})
    assert refused["code"] == "evaluation_required"
    await publish(rollout, 0.95)
    assert (await rollout.call("POST", "/rollback", {"version": 2}))["version"] == 3
    assert (await rollout.call("POST", "/rollback", {"version": 1}))["version"] == 4  # it was in force


async def test_a_rollback_names_the_reason_for_which_it_needs_no_evaluation() -> None:
    rollout = Rollout(agent_evaluation=0.9)
    await rollout.put("Good.")
    await rollout.put("Better.", share=0)
    await rollout.call("POST", "/rollback", {"version": 2, "override": "Outage of the judge"})
    record = next(record for record in rollout.harness.audit.records if record.outcome == "restored")
    assert record.detail["override"] == "Outage of the judge"


async def test_a_deleted_agent_is_not_made_again_without_an_evaluation() -> None:
    rollout = Rollout(agent_evaluation=0.9)
    await rollout.put("Good.")
    await rollout.authors.call("DELETE", "/agents/tutor")
    refused = (await rollout.authors.put("tutor", TUTOR | {"systemPrompt": "Worse."})).json()
    assert (refused["code"], "deleted" in refused["detail"]) == ("evaluation_required", True)
    assert (await rollout.call("POST", "/rollback", {"version": 1}))["version"] == 3  # it was in force
    await rollout.authors.call("DELETE", "/agents/tutor")
    assert await rollout.put("Worse.", override="Another agent of this name") == 201


async def test_the_audit_names_the_publisher_and_the_version_of_an_evaluation(rollout: Rollout) -> None:
    await rollout.put("Good.")
    await rollout.put("Better.", share=0)
    await publish(rollout, 0.9)
    record = next(record for record in rollout.harness.audit.records if record.action == "evaluation.publish")
    assert (record.scope.user_id, record.detail["agentId"], record.detail["version"]) == ("ada", "tutor", 2)
    assert (await rollout.call("GET", "/versions"))["items"][0]["evaluation"]["publishedBy"] == "ada"


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
