"""How the demo model reads a workflow's note, also where parts of it are left out."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.agents.workflow_notes import MAX_TOLD
from local.demo_model.conversation import Conversation
from local.demo_model.guide import Guide, guide_of
from local.demo_model.wire import ChatMessage
from tests.unit.demo_model.guided import Guided, skill_creation

NOTE = """Workflow: a trip. The user is shown: Step 1 of 2: Details.
State: DETAILS
Data of this state, as JSON Schema: {"type": "object", "properties": {"city": {"type": "string"}}}
Collected in this state: %s
Possible next states: none yet"""


def read(note: str) -> Guide:
    """The note, read as a specialist is told it."""
    guide = guide_of(Conversation.of([ChatMessage(role="system", content=note)]))
    assert guide is not None
    return guide


def test_collected_data_that_is_cut_is_read_as_far_as_it_is_told() -> None:
    assert read(NOTE % '{"city": "Graz, AT", "tags": ["a", "b"], "note": "long, {lo... (cut)').collected == {
        "city": "Graz, AT",
        "tags": ["a", "b"],
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=9,
)


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=4), st.data())
def test_wherever_data_is_cut_what_is_read_was_collected(fields: dict[str, object], data: st.DataObject) -> None:
    told = json.dumps(fields)
    cut = told[: data.draw(st.integers(0, len(told) - 1))]
    collected = read(NOTE % f"{cut}... (cut)").collected
    assert collected.keys() <= fields.keys()
    for name in list(collected)[:-1]:
        assert collected[name] == fields[name]


def test_a_note_that_breaks_off_is_not_of_a_finished_workflow() -> None:
    whole = NOTE % "{}"
    assert read(whole.removesuffix("\nPossible next states: none yet")).is_final
    for length in range(whole.index("\nState: ") + 9, len(whole)):
        assert not read(f"{whole[:length]}\n[Shortened: there is no room for the whole of it.]").is_final


@pytest.mark.parametrize("piece", ["word ", "x", "Lorem ipsum dolor sit amet. ", "a, b; "])
@pytest.mark.parametrize("place", range(5))
def test_a_text_beside_which_nothing_has_room_completes_nothing(piece: str, place: int) -> None:
    guided = Guided(skill_creation())
    before = ["create a skill that sends Slack alerts", "Use it\nPost it.", "yes", "ok"]
    for text in before[:place]:
        guided.say(text)
    guided.has_room = False
    guided.say(piece * (72_000 // len(piece)))
    assert guided.report is None
    guided.has_room = True
    assert guided.say("yes, go on") or guided.report is not None
    assert guided.report is None or guided.state == "COMPLETE"


def test_a_skill_with_more_than_is_told_is_made_all_the_same() -> None:
    guided = Guided(skill_creation())
    guided.say("create a skill that sends Slack alerts")
    guided.say("\n".join(f"Requirement {number} is {'long ' * 90}" for number in range(8)))
    long = [f"Requirement {number} {'x' * 450}" for number in range(MAX_TOLD // 450 + 2)]
    gathered = {**guided.workflow.data["GATHERING_REQUIREMENTS"], "requirements": long}
    guided.workflow = replace(guided.workflow, data={**guided.workflow.data, "GATHERING_REQUIREMENTS": gathered})
    for text in ("yes", "looks good", "yes"):
        assert guided.report is None
        guided.say(text)
    assert guided.report is not None
    assert guided.state == "COMPLETE"
