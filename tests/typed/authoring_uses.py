"""Uses of agents in Python, which mypy checks with the rest of the code.

A use that is wrong has a ``type: ignore`` with the code of its error: mypy refuses one that ignores nothing.
"""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any, assert_type

from pydantic import BaseModel

from baton import Agent, CallContext, Desk, Handoff, HandOver, HttpTool, Refuse, Replace, RunContext, tool


class Receipt(BaseModel):
    """A result of a tool, and a type of answers."""

    number: str
    euros: Decimal


@tool(approval="always")
async def refund(number: str, euros: Decimal, context: CallContext) -> Receipt:
    """Refund an order."""
    await context.progress("1 of 1")
    await context.progress(1)  # type: ignore[arg-type]
    assert_type(context.user, str)
    assert_type(context.time_zone, str | None)
    assert_type(context.state, dict[str, Any])
    return Receipt(number=number, euros=euros)


@tool
def count(text: str) -> int:
    """Count characters."""
    return len(text)


async def call_tools_as_functions(context: CallContext) -> None:
    assert_type(await refund("A-1", Decimal(5), context), Receipt)
    assert_type(count("text"), int)
    count(5)  # type: ignore[arg-type]
    await refund("A-1")  # type: ignore[call-arg]


def make_agents() -> Agent:
    faq = Agent("faq", "Answer.")
    Agent("support", sub_agent=[faq])  # type: ignore[call-arg]
    Agent("support", "Help.", tools=refund)  # type: ignore[arg-type]
    Agent("support", "Help.", handoffs=[Handoff(faq, because="It broke.")])  # type: ignore[call-arg]
    tool(approval="sometimes")  # type: ignore[call-overload]
    return Agent("support", "Help.", tools=[refund, count], sub_agents=[faq], handoffs=[faq], output_type=Receipt)


async def take_steps(context: RunContext, faq: Agent) -> None:
    search = HttpTool("search", "Search the catalogue.", method="GET", url="https://shop.example.com/search")
    assert_type(await context.ask(faq, "How long?"), str)
    assert_type(await context.begin("library", "How long?"), str)
    assert_type(await context.call(refund, number="A-1", euros=5), Receipt)
    assert_type(await context.call(count, text="text"), int)
    assert_type(await context.call(search, query="lease"), str)
    assert_type(await context.model("Sum up."), str)
    assert_type(await context.model("Read it.", output_type=Receipt), Receipt)
    assert_type(await context.gather(context.ask(faq, "One?"), context.ask("library", "Two?")), list[str])
    assert_type(context.random, Random)
    await context.ask(faq)  # type: ignore[call-arg]
    await context.hand_over(faq)  # type: ignore[call-arg]
    await context.say(5)  # type: ignore[arg-type]
    context.number = 5  # type: ignore[attr-defined]


def judge(support: Agent) -> None:
    @support.output_guardrail
    def no_numbers(text: str) -> Refuse | Replace | None:
        return Replace(text) if text else Refuse("No.")

    assert_type(no_numbers("text"), Refuse | Replace | None)
    people = Desk("people")

    @support.before_model
    def calm(messages: list[dict[str, str]]) -> HandOver | None:
        return HandOver(people, reason="anger") if messages else HandOver("people")

    assert_type(calm([]), HandOver | None)

    @support.before_tool(on_failure="open", timeout_seconds=2)
    def allow(name: str) -> None:
        assert name

    @support.run
    async def answer(context: RunContext, message: str) -> str:
        return await context.ask("faq", message)

    support.before_tool(on_failure="never")  # type: ignore[call-overload]
