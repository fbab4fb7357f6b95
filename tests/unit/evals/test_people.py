"""Cases that reach a desk: people's words are not the agents', and what people answer is not graded."""

from __future__ import annotations

from typing import Any

import pytest

from baton_project.project import Project
from baton_testing.evals.collecting import Wanted, collect
from baton_testing.evals.results import EvaluationRecord, RunRecord
from baton_testing.evals.targets.server_target import ServerTarget
from tests.harness.desks import DeskHarness, desk
from tests.unit.api.served import Served
from tests.unit.evals.command import run, save_cases
from tests.unit.evals.served_cases import case, client_of
from tests.unit.testing.command import Ran

DESK = """id: people
kind: desk
name: Support team
description: People.
triggers: ["a human"]
desk:
  hours: {zone: Europe/Vienna, week: {mon-fri: "09:00-17:00"}}
"""
ASK = "I want to talk to a human."
ANNA = {"person": {"takes": True, "says": "You get 20 euros back."}}
REFUND = {"type": "contains", "text": "20 euros"}


@pytest.fixture
def shop(project: Project) -> Project:
    """The project with a desk that its assistant hands over to."""
    (project.agents / "people.yaml").write_text(DESK)
    file = project.agents / "assistant.yaml"
    file.write_text(f"{file.read_text()}handoffs: [{{to: people}}]\n")
    return project


def evaluate(shop: Project, *turns: str | dict[str, Any], **fields: Any) -> tuple[Ran, RunRecord]:
    """Evaluate one case."""
    results = shop.folder / "results.json"
    path = save_cases(shop, {"name": "A case", "input": list(turns), **fields})
    completed = run(shop, str(path), "--json", str(results))
    return completed, EvaluationRecord.model_validate_json(results.read_text()).cases[0].runs[0]


def test_what_people_answer_is_not_judged_and_agents_are(shop: Project) -> None:
    handoff = {"type": "handed_off_to", "agent": "people"}
    _, record = evaluate(shop, ASK, "Is anybody there?", checks=[REFUND, handoff])
    assert [score.passed for score in record.scores] == [None, True]
    assert "people answer" in record.scores[0].reason
    assert (record.passed, record.answer) == (None, "")


def test_words_of_a_person_are_not_the_agents(shop: Project) -> None:
    checks = [{"type": "not_contains", "text": "20 euros"}, {"type": "answered_by", "agent": "people"}]
    completed, record = evaluate(shop, ASK, ANNA, checks=checks)
    assert completed.code == 1  # Anna spoke last
    assert [score.passed for score in record.scores] == [True, False]
    assert any("Anna (a person): You get 20 euros back." in line for line in record.transcript)


def test_the_agent_is_graded_after_it_has_the_conversation_back(shop: Project) -> None:
    back = {"person": {"returns": "Agreed."}}
    completed, record = evaluate(
        shop, ASK, ANNA, back, "Where is A-1001?", checks=[{"type": "contains", "text": "A-1001"}]
    )
    assert (completed.code, record.passed) == (0, True)


def test_time_passes_until_nobody_has_come_or_the_desk_is_closed(shop: Project) -> None:
    nobody = {"type": "contains", "text": "Nobody of Support team is free"}
    assert evaluate(shop, ASK, {"wait": "11 minutes"}, checks=[nobody])[1].passed
    closed = {"type": "contains", "text": "Support team is closed"}
    assert evaluate(shop, ASK, checks=[closed], begins_at="2030-01-06T12:00:00Z")[1].passed  # a Sunday
    assert evaluate(shop, {"desk": True}, checks=[closed], begins_at="2030-01-06T12:00:00Z")[1].passed


def test_a_person_who_finds_no_conversation_at_a_desk_ends_the_run(shop: Project) -> None:
    _, record = evaluate(shop, "Hello", ANNA)
    assert record.error == "the run ended with not_at_desk"


@pytest.mark.parametrize(
    ("turn", "problem"),
    [
        ({"desk": "poeple"}, "input.1.desk: there is no desk 'poeple' (did you mean people?)"),
        ({"person": {"transfers": "x"}}, "input.1.person.transfers: there is no desk 'x'. Available: people"),
    ],
)
def test_a_desk_that_does_not_exist_is_reported(shop: Project, turn: dict[str, Any], problem: str) -> None:
    path = save_cases(shop, {"name": "A case", "input": ["Hello", turn]})
    completed = run(shop, str(path))
    assert (completed.code, problem in completed.errors) == (2, True)


def test_a_project_without_a_desk_has_no_people(project: Project) -> None:
    completed = run(project, str(save_cases(project, {"name": "A case", "input": ["Hello", ANNA]})))
    assert (completed.code, "input.1.person: no agent of the project is a desk" in completed.errors) == (2, True)


async def test_a_servers_people_are_not_graded_and_their_conversations_collect_without_them() -> None:
    harness = DeskHarness(support=desk(triggers=["talk to a human"]))
    served = Served(harness)
    answer = await ServerTarget(client_of(served, "bob")).hold(case(input=["I want to talk to a human", "Hello?"]), 0)
    assert (answer.text, answer.delivered, answer.answered_by, answer.error) == ("", True, None, None)

    await harness.ask()
    await harness.say("m2", "My lamp is broken.")
    path = f"/threads/{harness.thread_id}/desk"
    await served.post(f"{path}/take", {}, "desk:answer", user="anna")
    words = {"messageId": "p1", "content": "You get 20 euros back."}
    await served.post(f"{path}/messages", words, "desk:answer", user="anna")
    await served.post(f"{path}/return", {}, "desk:answer", user="anna")
    harness.model.script("You are welcome.")
    await harness.say("m3", "Thanks")
    admin = client_of(served, "boss", "thread:read_all")
    cases = {str(item["metadata"]["runId"]): item async for item in collect(admin, Wanted())}
    thanks = next(item for item in cases.values() if item["reference"] == "You are welcome.")
    assert thanks["input"] == ["I want to talk to a human", "Thanks"]
    assert thanks["metadata"]["deskMessagesLeftOut"] == 1
    assert "lamp" not in str(cases)
    assert "20 euros" not in str(cases)
