"""Workflows under way: they only go where their definition leads, and lose nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from baton.agents.tools.builtin_tools import make_workflow_note
from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import WorkflowUnavailable
from baton.domain.handoffs.workflow import Workflow, WorkflowStatus, fill_title, measure_progress
from baton.domain.handoffs.workflow_definition import WorkflowDefinition
from baton.domain.handoffs.workflow_moves import (
    MAX_DATA,
    IllegalTransition,
    abandon,
    advance,
    expire,
    find_missing,
    list_later_targets,
    list_open_targets,
    resume,
    save,
)
from baton.domain.schemas.json_schema import find_problems
from baton.domain.threads.thread_state import describe_resumable_workflow, describe_workflow_in_progress
from tests.unit.domain.skill_creation import NOW, STATES, TEXT, begin_workflow, collects, definition

LATER = NOW + timedelta(hours=1)
NAMED = {"name": "Slack Alert", "purpose": "Tells the team."}


def move(*moves: tuple[str, dict[str, Any]], of: WorkflowDefinition | None = None) -> Workflow:
    """A workflow after some moves."""
    workflow = begin_workflow(of)
    for state, data in moves:
        workflow = advance(of or definition(), workflow, state, data, LATER)
    return workflow


def refuse_move(workflow: Workflow, state: str, data: dict[str, Any]) -> IllegalTransition:
    with pytest.raises(IllegalTransition) as refusal:
        advance(definition(), workflow, state, data, LATER)
    return refusal.value


def test_a_workflow_begins_in_the_first_state() -> None:
    assert begin_workflow() == Workflow(
        id="w1",
        agent_id="maker",
        name="skill creation",
        state="GATHER",
        data={"GATHER": {}},
        thread_id="t1",
        version=definition().version,
        updated_at=NOW,
        expires_at=NOW + timedelta(days=30),
    )


def test_a_workflow_goes_step_by_step_to_its_end() -> None:
    done = move(("build", NAMED), ("TEST", {}), ("DONE", {"approved": True}))
    assert (done.state, done.status, done.name) == ("DONE", WorkflowStatus.COMPLETED, "your Slack Alert skill")
    assert done.data == {"GATHER": NAMED, "BUILD": {}, "TEST": {"approved": True}, "DONE": {}}
    assert (done.updated_at, done.expires_at) == (LATER, LATER + timedelta(days=30))


def test_naming_the_present_state_keeps_what_there_is() -> None:
    here = move(("GATHER", {"name": "Slack"}), ("gather", {"name": "Slack Alert"}))
    assert (here.state, here.data) == ("GATHER", {"GATHER": {"name": "Slack Alert"}})
    assert find_missing(definition(), here) == ("purpose",)
    assert advance(definition(), here, "BUILD", {"purpose": "Tells."}, LATER).state == "BUILD"


def test_a_state_is_not_left_forward_before_it_is_complete() -> None:
    refusal = refuse_move(begin_workflow(), "BUILD", {"name": "Slack Alert"})
    assert (refusal.legal, refusal.missing) == ((), ("purpose",))
    assert str(refusal) == ("GATHER is not complete: 'purpose' is a required property. Still missing: purpose.")


def test_going_back_asks_for_nothing_and_loses_nothing() -> None:
    back = move(("BUILD", NAMED), ("TEST", {}), ("BUILD", {"score": 0.5}), ("GATHER", {}))
    assert (back.data, back.proposals) == ({"GATHER": NAMED}, {"TEST": {"score": 0.5}})
    advanced = advance(definition(), back, "BUILD", {"name": "Mail Alert"}, LATER)
    assert (advanced.data["GATHER"], advanced.name) == (NAMED | {"name": "Mail Alert"}, "your Mail Alert skill")


def test_what_was_agreed_to_before_going_back_counts_only_once_it_is_given_again() -> None:
    agreed = ("TEST", {"approved": True, "score": 0.5})
    back = move(("BUILD", NAMED), ("TEST", {}), agreed, ("BUILD", {}), ("GATHER", {}))
    back = advance(definition(), advance(definition(), back, "BUILD", {"name": "Mail"}, LATER), "TEST", {}, LATER)
    assert (back.data["TEST"], back.proposals) == ({}, {"TEST": agreed[1]})
    refusal = refuse_move(back, "DONE", {})
    assert (refusal.missing, refusal.legal) == (("approved",), ("BUILD",))
    done = advance(definition(), back, "DONE", {"approved": True}, LATER)
    assert (done.data["TEST"], done.proposals) == ({"approved": True}, {})


def test_data_of_a_way_that_was_not_taken_in_the_end_does_not_count() -> None:
    photo = {"name": "PHOTO", "label": "Photo", "collects": collects(photo=TEXT)}
    first = {**STATES[0], "transitions": ["PHOTO", "TEST"]}
    ways = definition(first, photo, {**STATES[2], "transitions": ["DONE", "GATHER"]}, STATES[3], title=None)
    back = move(("PHOTO", NAMED), ("TEST", {"photo": "p.png"}), ("GATHER", {"approved": True}), of=ways)
    done = advance(ways, advance(ways, back, "TEST", {}, LATER), "DONE", {"approved": True}, LATER)
    assert done.data == {"GATHER": NAMED, "TEST": {"approved": True}, "DONE": {}}


@pytest.mark.parametrize("state", ["TEST", "DONE"])
def test_no_state_is_skipped(state: str) -> None:
    refusal = refuse_move(begin_workflow(), state, NAMED)
    assert str(refusal) == f"{state} cannot follow GATHER. Possible now: BUILD."


def test_a_way_with_a_condition_is_shut_until_it_holds() -> None:
    testing = move(("BUILD", NAMED), ("TEST", {}))
    refusal = refuse_move(testing, "DONE", {"approved": False})
    assert str(refusal) == "DONE is not open yet: approved must be true. Possible now: BUILD."
    assert refuse_move(testing, "DONE", {}).missing == ("approved",)
    assert advance(definition(), testing, "DONE", {"approved": True}, LATER).status is WorkflowStatus.COMPLETED


@pytest.mark.parametrize(
    ("state", "data", "expected"),
    [
        ("nowhere", {}, "There is no state 'nowhere'."),
        ("x" * 5000, {}, "There is no state 'xxx"),
        ("BUILD", {"name": 7, "purpose": "x"}, "name: 7 is not of type 'string'"),
        ("GATHER", {"name": ""}, "name: '' should be non-empty"),
        ("GATHER", {"colour": "red"}, "'colour' was unexpected"),
        ("GATHER", {"name": float("nan")}, "must be a JSON object"),
        ("GATHER", {"name": {1, 2}}, "must be a JSON object"),
        ("GATHER", {"name": "é" * MAX_DATA}, "at most 64 KB"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(state: str, data: dict[str, Any], expected: str) -> None:
    refusal = refuse_move(begin_workflow(), state, data)
    assert expected in str(refusal)
    assert len(str(refusal)) < 1_000


def test_a_state_that_collects_nothing_takes_nothing() -> None:
    assert "BUILD collects nothing" in str(refuse_move(move(("BUILD", NAMED)), "TEST", {"a": 1}))


@pytest.mark.parametrize("pattern", [r"^(a+)+$"])
def test_a_pattern_that_ruins_other_engines_is_answered(pattern: str) -> None:
    evil = definition({**STATES[0], "collects": collects("name", name={**TEXT, "pattern": pattern})}, *STATES[1:])
    with pytest.raises(IllegalTransition):
        advance(evil, begin_workflow(evil), "BUILD", {"name": "a" * 20_000 + "!"}, LATER)


def test_what_the_caller_does_to_its_data_later_changes_nothing() -> None:
    data = dict(NAMED)
    here = move(("GATHER", data))
    data["name"] = "Other"
    assert here.data["GATHER"]["name"] == "Slack Alert"


def test_only_an_active_workflow_is_advanced() -> None:
    saved = save(definition(), begin_workflow(), LATER)
    assert "The workflow is saved" in str(refuse_move(saved, "BUILD", NAMED))
    done = move(("BUILD", NAMED), ("TEST", {}), ("DONE", {"approved": True}))
    assert "The workflow is completed" in str(refuse_move(done, "GATHER", {}))
    changed = replace(begin_workflow(), version="older")
    assert "must be resumed first" in str(refuse_move(changed, "BUILD", NAMED))


def test_leaving_saves_or_discards_as_the_definition_says() -> None:
    saved = save(definition(), move(("BUILD", NAMED)), LATER)
    assert (saved.status, saved.state, saved.data["GATHER"]) == (WorkflowStatus.SAVED, "BUILD", NAMED)
    assert save(definition(), saved, LATER + timedelta(1)) == saved
    assert save(definition(on_exit="discard"), begin_workflow(), LATER).status is WorkflowStatus.ABANDONED


def test_a_saved_workflow_is_taken_up_in_another_thread() -> None:
    saved = save(definition(), move(("BUILD", NAMED)), LATER)
    resumed = resume(definition(), saved, thread_id="t2", now=LATER + timedelta(days=29))
    assert resumed.changed is None
    assert resumed.workflow == replace(
        saved,
        status=WorkflowStatus.ACTIVE,
        thread_id="t2",
        updated_at=LATER + timedelta(days=29),
        expires_at=LATER + timedelta(days=59),
    )


def test_one_whose_user_disappeared_is_taken_up_too() -> None:
    assert resume(definition(), begin_workflow(), thread_id="t2", now=LATER).workflow.thread_id == "t2"


def test_what_is_over_is_not_taken_up() -> None:
    over = [
        move(("BUILD", NAMED), ("TEST", {}), ("DONE", {"approved": True})),
        abandon(begin_workflow(), LATER),
        replace(begin_workflow(), expires_at=LATER),
        expire(replace(begin_workflow(), expires_at=LATER), LATER),
    ]
    for workflow in over:
        with pytest.raises(WorkflowUnavailable):
            resume(definition(), workflow, thread_id="t2", now=LATER)
    assert over[3].status is WorkflowStatus.EXPIRED
    assert expire(begin_workflow(), LATER) == begin_workflow()
    assert abandon(over[0], LATER) == over[0]
    assert expire(over[0], LATER + timedelta(days=99)) == over[0]


@pytest.mark.parametrize(
    ("states", "goes_on_in", "reason"),
    [
        ([STATES[0], {"name": "NEW", "label": "New"}, *STATES[1:]], "TEST", None),
        ([STATES[0], STATES[1], {**STATES[2], "name": "TRY"}, STATES[3]], "GATHER", "there is no state TEST any more"),
        ([*STATES[:2], {"name": "TEST", "label": "Test", "final": True}], "GATHER", "TEST is the end now"),
        (
            [{**STATES[0], "collects": collects("owner", owner=TEXT, name=TEXT)}, *STATES[1:]],
            "GATHER",
            "GATHER asks for something else now: 'owner' is a required property",
        ),
        (
            [*STATES[:2], {**STATES[2], "collects": collects("approved", "n", approved={}, n={})}, STATES[3]],
            "TEST",
            None,
        ),
        (
            [*STATES[:2], {**STATES[2], "collects": collects(approved={"type": "boolean"}, score=TEXT)}, STATES[3]],
            "GATHER",
            "TEST asks for something else now: score: 0.5 is not of type 'string'",
        ),
    ],
)
def test_a_changed_definition_is_reported_and_nothing_is_lost(
    states: list[dict[str, Any]], goes_on_in: str, reason: str | None
) -> None:
    saved = save(definition(), move(("BUILD", NAMED), ("TEST", {}), ("TEST", {"score": 0.5})), LATER)
    now = definition(*states)
    resumed = resume(now, saved, thread_id="t2", now=LATER)
    assert resumed.changed is not None
    assert resumed.changed.goes_on_in == goes_on_in
    assert resumed.changed.reason == reason
    assert resumed.workflow.state == goes_on_in
    assert resumed.workflow.version == now.version
    stored = {**resumed.workflow.data, **resumed.workflow.proposals}
    assert {state: data for state, data in stored.items() if data} == {"GATHER": NAMED, "TEST": {"score": 0.5}}


def test_what_only_an_earlier_definition_collected_is_in_nobodys_way() -> None:
    here = move(("GATHER", NAMED))
    now = definition({**STATES[0], "collects": collects("name", "topic", name=TEXT, topic=TEXT)}, *STATES[1:])
    resumed = resume(now, here, thread_id="t1", now=LATER).workflow
    further = advance(now, resumed, "BUILD", {"topic": "Alerts"}, LATER)
    assert further.data["GATHER"] == {**NAMED, "topic": "Alerts"}


def test_progress_is_shown_in_every_state() -> None:
    at = measure_progress(definition(), move(("BUILD", NAMED)))
    assert at is not None
    assert (str(at), at.label) == ("Step 2 of 3", "Building")
    assert measure_progress(definition(), replace(begin_workflow(), state="GONE")) is None


def test_the_end_is_no_step() -> None:
    steps = [measure_progress(definition(), replace(begin_workflow(), state=state["name"])) for state in STATES]
    assert [str(at) for at in steps] == ["Step 1 of 3", "Step 2 of 3", "Step 3 of 3", "Step 3 of 3"]


def test_a_workflow_is_shown_as_the_protocol_says() -> None:
    here = move(("BUILD", NAMED))
    maker = AgentDefinition(
        id="maker", name="Maker", description="Makes.", system_prompt="Make.", workflow=definition()
    )
    assert describe_resumable_workflow(lambda _: maker, here).wire() == {
        "id": "w1",
        "agentId": "maker",
        "name": "your Slack Alert skill",
        "state": "BUILD",
        "label": "Building",
        "step": 2,
        "steps": 3,
        "threadId": "t1",
        "updatedAt": "2026-03-14T10:26:00.000Z",
        "expiresAt": "2026-04-13T10:26:00.000Z",
    }
    assert describe_workflow_in_progress(definition(), here).wire() == {
        "id": "w1",
        "name": "your Slack Alert skill",
        "state": "BUILD",
        "label": "Building",
        "step": 2,
        "steps": 3,
        "canExit": True,
    }
    assert not describe_workflow_in_progress(definition(), advance(definition(), here, "TEST", {}, LATER)).can_exit
    orphan = describe_resumable_workflow(lambda _: None, replace(here, state="MAKING_IT"))
    assert (orphan.label, orphan.step, orphan.steps) == ("Making It", None, None)


def test_a_title_is_one_short_line() -> None:
    data = {"GATHER": {"name": "Slack\n\nAlert\x00 " + "x" * 200}}
    filled = fill_title(definition(), data)
    assert filled is not None
    assert filled.startswith("your Slack Alert xxx")
    assert len(filled) < 100
    assert fill_title(definition(), {}) is None
    assert begin_workflow(definition(untitled="your new skill")).name == "your new skill"


@pytest.mark.parametrize(
    ("form", "right", "wrong"),
    [
        ("date", "2026-11-26", ["not a day", "2026-02-30", "2026-W48-4", "20261126"]),
        ("date-time", "2026-11-26T18:00:00Z", ["2026-11-26", "2026-11-26T18:00:00", "tomorrow"]),
        ("time", "18:00:00+01:00", ["18:00:00", "noon"]),
        ("email", "ada@example.com", ["ada", "ada@@example.com"]),
        ("uri", "https://example.com/a", ["example.com", "https://a b"]),
        ("uuid", "550e8400-e29b-41d4-a716-446655440000", ["550e8400", "550e8400e29b41d4a716446655440000"]),
        ("colour", "anything", []),
    ],
)
def test_the_usual_formats_of_collected_texts_are_checked(form: str, right: str, wrong: list[str]) -> None:
    schema = {"type": "object", "properties": {"field": {"type": "string", "format": form}}}
    assert find_problems(schema, {"field": right}) == []
    for item in wrong:
        assert [problem.message for problem in find_problems(schema, {"field": item})] == [
            f"field: {item!r} is not a {form}"
        ]


def test_states_that_data_opens_are_named_beside_those_that_are_open() -> None:
    assert (list_open_targets(definition(), begin_workflow()), list_later_targets(definition(), begin_workflow())) == (
        (),
        ("BUILD",),
    )
    building = advance(definition(), begin_workflow(), "BUILD", {"name": "n", "purpose": "p"}, NOW)
    note = make_workflow_note(definition(), begin_workflow())
    assert "Possible with the data that they need, which the same call may give: BUILD" in note
    assert "none yet" not in note
    assert "Possible next states: TEST" in make_workflow_note(definition(), building)
