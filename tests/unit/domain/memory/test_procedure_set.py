"""The procedures that a message asks for by their triggers, among many, and the first of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.handoffs.triggers import check_trigger, matches
from baton.domain.memory.procedure import Procedure, ProcedureDraft, ProcedureScope, ProcedureStatus, ProcedureStep
from baton.domain.memory.procedure_set import ProcedureSet, TriggerIndex
from tests.unit.domain.skill_creation import NOW


def procedure(name: str, *triggers: str) -> Procedure:
    draft = ProcedureDraft(name, f"Does {name}.", triggers, (ProcedureStep("Do it."),))
    return Procedure(draft, "acme", "assistant", "bob", NOW, 1, ProcedureStatus.APPROVED)


def find_triggered(text: str, *procedures: Procedure) -> list[str]:
    return [item.procedure.id for item in ProcedureSet(procedures).find_triggered(text)]


@pytest.mark.parametrize("status", [status for status in ProcedureStatus if status is not ProcedureStatus.APPROVED])
def test_only_approved_procedures_answer_messages(status: ProcedureStatus) -> None:
    one = procedure("one", "do it")
    assert find_triggered("do it", one) == ["one"]
    assert find_triggered("do it", replace(one, status=status)) == []
    assert find_triggered("leave it", one) == []


def test_the_most_specific_trigger_comes_first() -> None:
    short = procedure("short", "alert")
    long = procedure("long", "send alert", "send slack alert")
    pattern = procedure("pattern", "(send|post) .*alert")
    greedy = procedure("greedy", "send.*")
    triggered = ProcedureSet([short, greedy, pattern, long]).find_triggered(
        "Please send a slack alert to my whole team"
    )
    assert [item.procedure.id for item in triggered] == ["long", "pattern", "short", "greedy"]
    assert triggered[0].trigger == "send slack alert"


def test_of_equally_specific_ones_the_agents_own_comes_first_and_then_the_one_approved_last() -> None:
    old = replace(procedure("a", "do it"), decided_at=NOW)
    new = replace(procedure("b", "do it"), decided_at=NOW + timedelta(days=1))
    shared = replace(procedure("c", "do it"), decided_at=NOW + timedelta(days=2), scope=ProcedureScope.TENANT)
    assert find_triggered("do it", shared, old, new) == ["b", "a", "tenant.c"]
    assert find_triggered("do it", replace(new, decided_at=NOW), old) == ["a", "b"]


def test_private_skills_come_after_approved_procedures_whatever_their_triggers() -> None:
    approved = ProcedureSet([procedure("a", "alert")])
    skill = replace(
        procedure("b", "send slack alert"), scope=ProcedureScope.USER, status=ProcedureStatus.PRIVATE, created_by="ada"
    )
    triggered = approved.with_skills([skill]).find_triggered("send slack alert")
    assert [item.procedure.id for item in triggered] == ["a", "user.b"]
    assert find_triggered("send slack alert", skill) == ["user.b"]
    assert [item.procedure.id for item in approved.find_triggered("send slack alert")] == ["a"]  # it stays as it was
    assert approved.with_skills([]) is approved
    for status in ProcedureStatus:
        is_used = status in (ProcedureStatus.PRIVATE, ProcedureStatus.OFFERED)
        assert bool(find_triggered("send slack alert", replace(skill, status=status))) is is_used
    other = replace(skill, scope=ProcedureScope.AGENT)
    assert approved.with_skills([other]) is approved


words = st.sampled_from(["send", "slack", "alert", "größe", "müssen", "report", "日本", "1", "x"])
phrases = st.lists(words, min_size=1, max_size=3).map(" ".join)
patterns = st.sampled_from(
    [
        r"(send|post) (a|the)? ?alert",
        r"^/send",
        r"alert\?",
        r"\w+ report",
        r"[^\w]+slack",
        r"größ.",
        r"\balert\b",
        "日.",
    ]
)
messages = st.lists(words | st.sampled_from([".", "?", "/send", "\n\n", "the", "\ud800", "\u2019s"]), max_size=12).map(
    " ".join
)


@given(st.lists(phrases | patterns, max_size=80), messages)
def test_an_index_finds_the_triggers_that_match_one_by_one(triggers: list[str], text: str) -> None:
    assert set(TriggerIndex(triggers).find(text)) == {trigger for trigger in triggers if matches(trigger, text)}


@given(st.text(max_size=30), st.text(max_size=60))
def test_an_index_agrees_on_any_trigger_and_any_text(trigger: str, text: str) -> None:
    try:
        trigger = check_trigger(trigger)
    except ValueError:
        return
    for message in (text, f"{text} {trigger} {text}"):
        assert bool(TriggerIndex([trigger, "send alert"]).find(message).get(trigger)) == matches(trigger, message)


def test_patterns_that_are_too_large_together_are_found_all_the_same() -> None:
    large = [rf"(\w{{{number}}}-){{4}}end{number}" for number in range(1, 12)]
    text = "-".join(["aaa"] * 4) + "-end3"
    assert set(TriggerIndex([*large, "send alert"]).find(text)) == {item for item in large if matches(item, text)}
