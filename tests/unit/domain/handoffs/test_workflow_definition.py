"""Workflows as agents' files declare them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from baton.adapters.agents.agent_files import AgentFileError, read_agent
from baton.domain.handoffs.workflow_definition import Condition, WorkflowDefinition
from tests.unit.domain.skill_creation import FIELDS, STATES, TEXT, collects, definition

END = {"name": "DONE", "label": "Done", "final": True}


def state(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "label": name.title(), **fields}


def test_states_are_upper_case_and_listed_in_lower_case_on_the_card() -> None:
    states = definition()
    assert [one.name for one in states.states] == ["GATHER", "BUILD", "TEST", "DONE"]
    assert states.card_states == ["gather", "build", "test", "done"]
    assert states.find_state("build") is states.states[1]
    assert states.find_state("nowhere") is None


def test_ways_lead_to_the_next_state_and_back_to_earlier_ones_unless_declared() -> None:
    states = definition(*STATES[:2], state("CHECK"), STATES[3])
    ways = {one.name: [transition.to for transition in states.list_transitions(one.name)] for one in states.states}
    assert ways == {"GATHER": ["BUILD"], "BUILD": ["CHECK", "GATHER"], "CHECK": ["DONE", "GATHER", "BUILD"], "DONE": []}
    assert [transition.to for transition in definition().list_transitions("TEST")] == ["DONE", "BUILD"]


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([state("A"), state("B")], "no state is final"),
        ([END, state("A")], "the first state, DONE, is final"),
        ([state("A"), state("a"), END], "two states are named A"),
        ([state("A", transitions=["C"]), END], "A leads to C, which is no state"),
        ([state("A", transitions=["A", "DONE"]), END], "A leads to itself"),
        ([state("A", transitions=["DONE"]), state("B"), END], "no way leads to B"),
        ([state("A"), state("B", transitions=["A"]), {**END, "name": "C"}], "no way leads from A to a final state"),
        ([state("A"), {**END, "collects": collects()}], "DONE is final"),
        ([state("A"), {**END, "transitions": ["A"]}], "DONE is final"),
        ([END], "at least two states"),
        ([state("9"), END], "pattern"),
        ([state("A", colour="red"), END], "colour"),
        ([state("A", collects={"type": "nonsense"}), END], "no JSON Schema"),
        ([state("A", collects={"type": "array"}), END], "of type object"),
        ([state("A", collects=collects(a={"$ref": "https://example.com"})), END], r"must not use \$ref"),
        ([state("A", collects=collects(a={"patternProperties": {}})), END], "must not use patternProperties"),
        ([state("A", collects=collects(a={"items": {"pattern": "(?=x)"}})), END], "lookahead"),
        ([state("A", collects=collects(a={"anyOf": [{"pattern": "["}]})), END], "cannot be used"),
    ],
)
def test_states_that_lead_nowhere_are_refused(states: list[dict[str, Any]], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        definition(*states, title=None)


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ({"field": "approved"}, "exactly one of equals, present and in"),
        ({"field": "approved", "equals": True, "present": True}, "exactly one of"),
        ({"field": "approved", "present": None}, "equals alone may be null"),
        ({"field": "approved", "in": None}, "equals alone may be null"),
        ({"field": "aproved", "equals": True}, "which TEST does not collect"),
        ({"field": "gather.colour", "present": True}, "which GATHER does not collect"),
        ({"field": "nowhere.name", "present": True}, "names no state"),
        ({"field": "a.b.c", "present": True}, "pattern"),
        ({"field": "approved", "in": []}, "at least 1"),
        ({"field": "approved", "like": "x"}, "like"),
    ],
)
def test_conditions_on_what_is_not_collected_are_refused(when: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        definition(*STATES[:2], {**STATES[2], "transitions": [{"to": "DONE", "when": when}]}, STATES[3])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"title": "your {colour} skill"}, "placeholder {colour}, which no state collects"),
        ({"title": "your {name.first} skill"}, "placeholder {name.first}, which is no field of name"),
        ({"untitled": "your {name} skill"}, "it has no placeholders"),
        ({"expiry_days": 0}, "expiry_days"),
        ({"on_exit": "forget"}, "on_exit"),
        ({"name": " "}, "name"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_other_fields_are_checked_too(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        definition(**changes)


@pytest.mark.parametrize(
    ("when", "data", "expected"),
    [
        ({"field": "x", "equals": True}, {"x": True}, True),
        ({"field": "x", "equals": True}, {"x": 1}, False),
        ({"field": "x", "equals": 1}, {"x": 1.0}, True),
        ({"field": "x", "equals": 1}, {"x": True}, False),
        ({"field": "x", "equals": None}, {"x": None}, True),
        ({"field": "x", "equals": None}, {}, False),
        ({"field": "x", "present": True}, {"x": 0}, True),
        ({"field": "x", "present": True}, {"x": None}, False),
        ({"field": "x", "present": False}, {}, True),
        ({"field": "x", "in": ["a", 2]}, {"x": "a"}, True),
        ({"field": "x", "in": ["a", 2]}, {"x": "b"}, False),
        ({"field": "x", "in": ["a", 2]}, {"x": ["a"]}, False),
        ({"field": "here.x", "equals": "a"}, {"x": "a"}, True),
        ({"field": "there.x", "equals": "a"}, {"x": "a"}, False),
    ],
)
def test_a_condition_compares_as_json_does(when: dict[str, Any], data: dict[str, Any], *, expected: bool) -> None:
    assert Condition.model_validate(when).holds("HERE", {"HERE": data}) is expected


def test_other_words_are_no_other_version() -> None:
    version = definition().version
    reworded = [{**one, "label": "Other", "instructions": "Do it."} for one in STATES]
    assert definition(*reworded, title=None, untitled="something", expiry_days=1).version == version


@pytest.mark.parametrize(
    "states",
    [
        [{**STATES[0], "name": "ASK"}, *STATES[1:]],
        [{**STATES[0], "collects": collects("name", name=TEXT)}, *STATES[1:]],
        [STATES[0], state("MORE"), *STATES[1:]],
        [*STATES[:2], {**STATES[2], "transitions": ["DONE"]}, STATES[3]],
    ],
)
def test_other_rules_are_another_version(states: list[dict[str, Any]]) -> None:
    assert definition(*states).version != definition().version


def test_a_definition_is_shown_with_the_ways_that_are_its_defaults() -> None:
    visible = definition().model_dump(by_alias=True, mode="json")
    assert visible["states"][1]["transitions"] == [{"to": "TEST"}, {"to": "GATHER"}]
    assert visible["states"][2]["transitions"][0] == {"to": "DONE", "when": {"field": "approved", "equals": True}}
    states = [{name: value for name, value in one.items() if name != "canExit"} for one in visible["states"]]
    repeated_fields = {**FIELDS, "states": states}
    assert WorkflowDefinition.model_validate(repeated_fields).version == visible["version"]


def test_a_problem_in_a_file_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(
        "id: a\nname: A\ndescription: A.\nsystem_prompt: A.\nworkflow:\n  name: x\n  states:\n"
        "    - name: ASK\n      label: Ask\n      collects: {type: string}\n"
        "    - {name: DONE, label: Done, final: true}\n"
    )
    with pytest.raises(AgentFileError, match=r"a\.yaml:10: workflow\.states\.0\.collects: "):
        read_agent(file)[1]
