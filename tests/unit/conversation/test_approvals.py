"""Who decides about a call, which decision counts, and what is written down of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from baton.conversation.requests import answer_request, interrupt_answer
from baton.domain.errors import InterruptUnavailable, InvalidRequest
from baton.domain.interrupt import AnswerStatus, InterruptAnswer
from tests.unit.conversation.stage import Stage
from tests.unit.conversation.wiki import answer, interrupted, no, told_of_calls, wiki, yes


@pytest.fixture
def stage() -> Stage:
    return wiki()


def decisions(stage: Stage) -> list[tuple[str, str]]:
    """Who has decided what, as the audit tells it."""
    return [(record.scope.user_id, record.outcome) for record in stage.audit.records if record.action == "tool.approve"]


@pytest.mark.parametrize("payload", [None, {}, {"approved": True}, {"comment": "Go on."}])
def test_resolving_without_objection_approves(payload: Any) -> None:
    assert interrupt_answer("i.1", "resolved", payload, "ada").approves


@pytest.mark.parametrize("payload", [False, True, 0, "no", [], {"approved": "no"}, {"approved": None}])
def test_a_payload_that_is_no_decision_is_refused_and_approves_nothing(payload: Any) -> None:
    with pytest.raises(InvalidRequest):
        interrupt_answer("i.1", "resolved", payload, "ada")
    assert not InterruptAnswer("i.1", AnswerStatus.RESOLVED, payload, "ada").approves


def test_an_answer_that_nobody_gave_approves_nothing() -> None:
    assert not InterruptAnswer("i.1", AnswerStatus.RESOLVED).approves


async def test_two_answers_to_one_interrupt_in_one_request_are_refused(stage: Stage) -> None:
    (interrupt,) = await interrupted(stage)
    with pytest.raises(InvalidRequest):
        answer_request(stage.thread_id, [no(interrupt), yes(interrupt)])


async def test_an_approval_in_time_counts_though_the_run_goes_on_later(stage: Stage) -> None:
    first, second = await interrupted(stage, "home", "about")
    await answer(stage, yes(first))
    stage.clock.advance(timedelta(days=8).total_seconds())
    await answer(stage, yes(second))
    assert [called.arguments for called in stage.tools.calls] == [{"page": "home"}]
    approved, late = told_of_calls(stage)
    assert approved == "home is gone."
    assert "in time" in late


async def test_the_decision_that_was_taken_is_audited_once_under_its_name(stage: Stage) -> None:
    first, second = await interrupted(stage, "home", "about")
    await answer(stage, yes(first))
    await answer(stage, no(first, by="boss"))
    await answer(stage, no(second, by="boss"))
    await answer(stage, yes(second))
    assert decisions(stage) == [("ada", "approved"), ("boss", "refused")]
    assert [record.detail["interruptId"] for record in stage.audit.records] == [first["id"], second["id"]]


async def test_an_answer_that_a_message_has_overtaken_is_not_audited(stage: Stage) -> None:
    (interrupt,) = await interrupted(stage)
    await stage.say("m2", "Forget it.")
    with pytest.raises(InterruptUnavailable):
        await answer(stage, yes(interrupt))
    assert decisions(stage) == []


async def test_an_approval_that_comes_too_late_is_audited_as_none(stage: Stage) -> None:
    (interrupt,) = await interrupted(stage)
    stage.clock.advance(timedelta(days=8).total_seconds())
    await answer(stage, yes(interrupt))
    assert [outcome for _, outcome in decisions(stage)] == ["expired"]
