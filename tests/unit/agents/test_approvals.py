"""Decisions about calls: the users who may make them, the one that counts, and its audit record."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from baton.domain.errors import InterruptUnavailable, InvalidRequest
from baton.domain.runs.interrupt import DecisionStatus, InterruptDecision
from baton.domain.runs.tool_call import ToolCall
from baton.threads.requests.parsing import make_decision_request, parse_interrupt_decision
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness
from tests.harness.wiki import answer, call_results, no, run_until_interrupt, wiki, yes


@pytest.fixture
def harness() -> Harness:
    return wiki()


def decisions(harness: Harness) -> list[tuple[str, str]]:
    """The decisions with their users, from the audit records."""
    return [
        (record.scope.user_id, record.outcome) for record in harness.audit.records if record.action == "tool.approve"
    ]


@pytest.mark.parametrize("payload", [{"approved": True}, {"approved": True, "comment": "Go on.", "reason": None}])
def test_an_explicit_yes_approves(payload: Any) -> None:
    assert parse_interrupt_decision("i.1", "resolved", payload, "ada").approves


@pytest.mark.parametrize("payload", [None, {}, False, True, 0, "no", [], {"approved": "no"}, {"approved": None}])
def test_a_payload_that_is_no_decision_is_refused_and_approves_nothing(payload: Any) -> None:
    with pytest.raises(InvalidRequest):
        parse_interrupt_decision("i.1", "resolved", payload, "ada")
    assert not InterruptDecision("i.1", DecisionStatus.RESOLVED, payload, "ada").approves


def test_a_comment_with_half_a_character_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="half of a surrogate pair"):
        parse_interrupt_decision("i.1", "resolved", {"approved": True, "comment": "\ud83d"}, "ada")


def test_an_answer_that_nobody_gave_approves_nothing() -> None:
    assert not InterruptDecision("i.1", DecisionStatus.RESOLVED).approves


async def test_two_answers_to_one_interrupt_in_one_request_are_refused(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    with pytest.raises(InvalidRequest):
        make_decision_request(harness.thread_id, [no(interrupt), yes(interrupt)])


async def test_an_approval_in_time_counts_though_the_run_goes_on_later(harness: Harness) -> None:
    first, second = await run_until_interrupt(harness, "home", "about")
    await answer(harness, yes(first))
    harness.clock.advance(timedelta(days=8).total_seconds())
    await answer(harness, yes(second))
    assert [called.arguments for called in harness.tools.calls] == [{"page": "home"}]
    approved, late = call_results(harness)
    assert approved == "home is gone."
    assert "in time" in late


async def test_the_decision_that_was_taken_is_audited_once_under_its_name(harness: Harness) -> None:
    first, second = await run_until_interrupt(harness, "home", "about")
    await answer(harness, yes(first))
    await answer(harness, no(first, by="boss"))
    await answer(harness, no(second, by="boss"))
    await answer(harness, yes(second))
    assert decisions(harness) == [("ada", "approved"), ("boss", "refused")]
    assert [record.detail["interruptId"] for record in harness.audit.records] == [first["id"], second["id"]]


async def test_an_answer_that_a_message_has_overtaken_is_not_audited(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    await harness.say("m2", "Forget it.")
    with pytest.raises(InterruptUnavailable):
        await answer(harness, yes(interrupt))
    assert decisions(harness) == []


async def test_an_approval_that_comes_too_late_is_audited_as_none(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    harness.clock.advance(timedelta(days=8).total_seconds())
    await answer(harness, yes(interrupt))
    assert [outcome for _, outcome in decisions(harness)] == ["expired"]


async def test_nobody_is_asked_about_a_day_that_does_not_exist() -> None:
    harness = wiki()
    day = {"type": "string", "format": "date"}
    parameters = {"type": "object", "properties": {"day": {"anyOf": [day, {"type": "null"}]}}}

    async def book(day: str | None) -> str:
        return f"Booked for {day}."

    harness.tools.add("book", book, parameters=parameters, requires_approval=True, origin="http")
    harness.model.script(Answer.calling(ToolCall("c1", "book", '{"day": "2027-02-31"}')), "Which day?")
    turn = await harness.say("m1", "Book it.")
    assert turn.last.get("outcome", {}).get("type") != "interrupt"
    assert call_results(harness) == ["Error: the arguments do not fit at day: '2027-02-31' is not a date"]
