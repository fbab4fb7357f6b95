"""Agents whose ``run`` is a coroutine: steps, their records, and what a worker that takes over repeats."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from baton import Agent, Replace, RunContext, ToolFailed, tool
from baton.domain.errors import StoreUnavailable
from tests.fakes.chat_model import Answer
from tests.harness.coded import make_coded_harness
from tests.harness.failing_store import fail_once
from tests.harness.harness import Turn
from tests.harness.wiki import answer, no, yes

amounts: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_made() -> None:
    amounts.clear()


class Kind(BaseModel):
    needs_refund: bool
    euros: int = 0


class Receipt(BaseModel):
    number: str
    euros: int


@tool
async def pay(euros: int) -> Receipt:
    """Pay."""
    amounts.append(euros)
    return Receipt(number=f"R-{len(amounts)}", euros=euros)


@tool(approval="always")
async def refund(euros: int) -> Receipt:
    """Refund."""
    amounts.append(-euros)
    return Receipt(number=f"R-{len(amounts)}", euros=euros)


faq = Agent("faq", "Answer.", description="Knows the rules.")


def clerk(**fields: Any) -> Agent:
    """The main agent of the tests."""
    return Agent("assistant", "Sell.", main=True, **{"tools": [pay, refund], "sub_agents": [faq], **fields})


def texts(turn: Turn) -> list[str]:
    assert turn.finished is not None
    return [message.text for message in turn.finished.messages if message.role.value == "assistant" and message.text]


async def test_a_coroutine_asks_another_agent_and_returns_the_answer() -> None:
    agent = clerk()

    @agent.run
    async def run(context: RunContext, message: str) -> str:
        return f"It says: {await context.ask(faq, message)}"

    harness = make_coded_harness(agent, faq, answers=("Thirty days.",))
    turn = await harness.say("m1", "How long?")
    assert texts(turn) == ["It says: Thirty days."]
    assert turn.types[-1] == "RUN_FINISHED"
    assert [kind for kind in turn.types if kind.startswith("SUBAGENT")] == ["SUBAGENT_STARTED", "SUBAGENT_FINISHED"]
    assert harness.model.requests[0].contents[-1] == ("user", "How long?")


async def test_a_coroutine_branches_by_a_typed_answer_of_its_model_and_calls_a_tool() -> None:
    agent = clerk()

    @agent.run
    async def run(context: RunContext, message: str) -> str:
        kind = await context.model("Classify the message.", output_type=Kind)
        await context.say("One moment.")
        if kind.needs_refund:
            receipt = await context.call(pay, euros=kind.euros)
            return f"{receipt.number}: {receipt.euros} euros."
        return "Nothing to do."

    harness = make_coded_harness(agent, faq, answers=('{"needs_refund": true, "euros": 7}',))
    turn = await harness.say("m1", "Seven euros, please.")
    assert texts(turn) == ["One moment.", "R-1: 7 euros."]
    assert amounts == [7]
    [request] = harness.model.requests
    assert request.contents[0] == ("system", "Sell.")
    assert request.contents[-2:] == [("user", "Seven euros, please."), ("system", "Classify the message.")]
    assert not request.tools


async def test_the_model_writes_an_answer_that_the_user_sees_at_once() -> None:
    agent = clerk()

    @agent.run
    async def run(context: RunContext, message: str) -> None:
        await context.answer("Say hello.")

    turn = await make_coded_harness(agent, faq, answers=(Answer(("Hel", "lo.")),)).say()
    assert texts(turn) == ["Hello."]


@pytest.mark.parametrize("decision", [yes, no])
async def test_a_call_that_needs_approval_waits_and_the_coroutine_goes_on_after_the_decision(decision: Any) -> None:
    agent, starts = clerk(), []

    @agent.run
    async def run(context: RunContext, message: str) -> str:
        starts.append(message)
        await context.say(f"{message}?")
        paid = await context.call(pay, euros=1)
        try:
            receipt = await context.call(refund, euros=5)
        except ToolFailed as failure:
            return f"After {paid.number} {'nothing' if failure.is_refused else 'an error'}."
        return f"After {paid.number} {receipt.number}."

    harness = make_coded_harness(agent, faq)
    turn = await harness.say("m1", "Refund")
    [interrupt] = turn.last["outcome"]["interrupts"]
    assert interrupt["metadata"]["toolName"] == "refund"
    assert (texts(turn), amounts) == (["Refund?"], [1])
    turn = await answer(harness, decision(interrupt))
    expected = ("After R-1 R-2.", [1, -5]) if decision is yes else ("After R-1 nothing.", [1])
    assert (texts(turn), amounts) == ([expected[0]], expected[1])
    assert starts == ["Refund", "Refund"]


async def test_a_worker_that_takes_over_repeats_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = clerk()

    @agent.run
    async def run(context: RunContext, message: str) -> str:
        await context.say("One moment.")
        rule = await context.ask(faq, message)
        word = await context.model("Give a word.")
        receipt = await context.call(pay, euros=3)
        return f"{rule} {word} {receipt.number} {context.uuid()} {context.now()} {context.random.random()}"

    harness = make_coded_harness(agent, faq, answers=("Rule.", "Word.", "Never."))
    fail_once(monkeypatch, harness.store, "put_message", after=1)
    with pytest.raises(StoreUnavailable):
        await harness.say()
    harness.clock.advance(60)
    turn = await harness.say()
    assert (len(harness.model.requests), amounts) == (2, [3])
    first, last = texts(turn)
    assert (first, last[:15]) == ("One moment.", "Rule. Word. R-1")
    assert turn.text == first + last


async def test_calls_are_shown_approved_and_recorded_with_the_arguments_of_a_hook() -> None:
    agent = clerk()

    @agent.run
    async def run(context: RunContext, message: str) -> str:
        paid = await context.call(pay, euros=4111)
        refunded = await context.call(refund, euros=4111)
        return f"{paid.euros} {refunded.euros}"

    @agent.before_tool
    def cap() -> Replace:
        return Replace({"euros": 5})

    harness = make_coded_harness(agent, faq)
    turn = await harness.say()
    [interrupt] = turn.last["outcome"]["interrupts"]
    end = await answer(harness, yes(interrupt))
    visible = [event.body["delta"] for event in turn.events if event.type == "TOOL_CALL_ARGS"]
    assert (visible, amounts, texts(end)) == (['{"euros": 5}'] * 2, [5, -5], ["5 5"])
    assert end.finished is not None
    stored = await harness.records.list_steps(harness.ada, harness.thread_id, "m1", first_ordinal=0)
    assert len(stored) >= 2
    assert "4111" not in str((turn.events, end.events, end.finished.messages, stored))
