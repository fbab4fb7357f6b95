"""Agents whose ``run`` never ends, does too much, or does something else each time: each has a limit or an error."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from baton import Agent, RunContext, ToolFailed, UnusableDefinition, tool
from baton.authoring.errors import WrongArgument
from baton.domain.errors import StoreUnavailable
from baton.domain.runs.run_step import MAX_BRANCHES, MAX_DEPTH, MAX_STEP_BYTES
from tests.fakes.chat_model import Answer
from tests.harness.coded import make_coded_harness
from tests.harness.failing_store import fail_once
from tests.harness.harness import Harness, Turn
from tests.harness.timed import in_virtual_time
from tests.harness.wiki import answer, yes

Run = Callable[[RunContext, str], Awaitable[Any]]
LARGE = 100 * 1024


@tool
async def look(page: int = 0) -> str:
    """Look."""
    return f"page {page}"


@tool
async def take(text: str) -> str:
    """Take a text."""
    return "Taken."


@tool
def exits() -> str:
    """Exit."""
    sys.exit(4)


@tool
async def dump(size: int) -> str:
    """Return much."""
    return "x" * size


faq = Agent("faq", "Answer.", description="Knows.")
WIDE = {"model_calls": 100, "tool_calls": 500, "tokens": 10_000_000}


def make_harness(run: Run, *others: Agent, answers: tuple[Answer | str, ...] = (), **fields: Any) -> Harness:
    options = {"tools": [look, dump, take], "sub_agents": [faq, *others], "limits": WIDE, **fields}
    agent = Agent("assistant", "Sell.", main=True, **options)
    agent.run(run)
    return make_coded_harness(agent, faq, *others, answers=answers)


def run_to_end(harness: Harness) -> Turn:
    """The turn, in virtual time."""
    results: list[Turn] = []

    async def work() -> None:
        results.append(await harness.say(seconds=600))

    in_virtual_time(work)
    return results[0]


async def ask_for_ever(context: RunContext, message: str) -> str:
    while True:
        await context.ask(faq, "Again?")


async def ask_many(context: RunContext, message: str) -> str:
    for _ in range(100):
        await context.gather(*(context.ask(faq, f"{number}?") for number in range(MAX_BRANCHES)))
    return "Done."


async def call_for_ever_whatever_fails(context: RunContext, message: str) -> str:
    while True:
        with contextlib.suppress(Exception, asyncio.CancelledError):
            await context.call("nothing")


async def give_too_much(context: RunContext, message: str) -> str:
    for _ in range(100):
        await context.call(take, text="x" * LARGE)
    return "Done."


async def gather_too_much(context: RunContext, message: str) -> str:
    await context.gather(*(context.call(look) for _ in range(MAX_BRANCHES + 1)))
    return "Done."


async def record_too_much(context: RunContext, message: str) -> str:
    for number in range(100):
        await context.call(dump, size=LARGE + number)
    return "Done."


async def say_too_much(context: RunContext, message: str) -> str:
    while True:
        await context.say("word " * 50_000)


async def ask_at_length(context: RunContext, message: str) -> str:
    return await context.ask(faq, "x" * (MAX_STEP_BYTES + 1))


async def say_at_length(context: RunContext, message: str) -> str:
    await context.say("x" * (MAX_STEP_BYTES + 1))
    return "Done."


@pytest.mark.parametrize(
    "run",
    [
        ask_for_ever,
        ask_many,
        call_for_ever_whatever_fails,
        gather_too_much,
        give_too_much,
        record_too_much,
        say_too_much,
        ask_at_length,
        say_at_length,
    ],
)
def test_a_coroutine_that_does_too_much_ends_with_a_limit(run: Run) -> None:
    turn = run_to_end(make_harness(run))
    assert (turn.types[-1], turn.last.get("code")) == ("RUN_ERROR", "run_limit_reached")


@pytest.mark.parametrize(("limit", "step"), [("model_calls", "model"), ("tool_calls", "ask"), ("tool_calls", "call")])
async def test_the_agents_own_limits_count(limit: str, step: str) -> None:
    async def run(context: RunContext, message: str) -> str:
        for number in range(4):
            match step:
                case "model":
                    await context.model(f"Think {number}.")
                case "ask":
                    await context.ask(faq, f"{number}?")
                case _:
                    await context.call(look, page=number)
        return "Done."

    harness = make_harness(run, limits={limit: 3})
    turn = await harness.say()
    assert (turn.last["code"], limit in turn.last["message"]) == ("run_limit_reached", True)
    assert len(harness.model.requests) == (0 if step == "call" else 3)


async def test_a_result_that_is_too_large_is_a_failure_of_its_step() -> None:
    async def run(context: RunContext, message: str) -> str:
        try:
            await context.call(dump, size=MAX_STEP_BYTES + 1)
        except ToolFailed as failure:
            return f"{failure}"
        return "Done."

    assert (
        await make_harness(run).say()
    ).text == "The result has 262145 bytes; at most 262144 can be recorded. Ask for less."


async def sleep_for_ever(context: RunContext, message: str) -> str:
    await asyncio.Event().wait()
    return "Done."


async def sleep_whatever_happens(context: RunContext, message: str) -> str:
    while True:
        with contextlib.suppress(Exception, asyncio.CancelledError):
            await asyncio.Event().wait()


@pytest.mark.parametrize("run", [sleep_for_ever, sleep_whatever_happens])
def test_a_coroutine_that_never_ends_is_stopped_after_the_time_of_the_turn(run: Run) -> None:
    turn = run_to_end(make_harness(run, timeouts={"turn_seconds": 60}))
    assert turn.last["code"] == "turn_timeout"


def test_agents_that_ask_each_other_end_at_a_depth() -> None:
    depths: list[int] = []
    one = Agent("one", "One.", description="Asks.", sub_agents=["two"])
    two = Agent("two", "Two.", description="Asks.", sub_agents=["one"])

    async def run(context: RunContext, message: str) -> str:
        depths.append(len(message))
        other = "two" if context.agent_id == "one" else "one"
        try:
            return await context.ask(other, f"{message}?")
        except ToolFailed as failure:
            return str(failure)

    one.run(run)
    two.run(run)
    turn = run_to_end(make_harness(run, one, two))
    assert turn.text == "One has no agent two that it may ask for this user here. Agents: none."
    assert len(depths) == MAX_DEPTH + 1


async def raise_it(context: RunContext, message: str) -> str:
    raise ValueError("a bug")


async def leave(context: RunContext, message: str) -> str:
    sys.exit(3)


class NoException(BaseException):
    """An error that ``except Exception`` does not catch."""


async def raise_no_exception(context: RunContext, message: str) -> str:
    raise NoException


async def leave_in_a_branch(context: RunContext, message: str) -> str:
    await context.gather(leave(context, message), context.call(look))
    return "Done."


async def cancel_itself(context: RunContext, message: str) -> str:
    raise asyncio.CancelledError


async def return_a_number(context: RunContext, message: str) -> Any:
    return 7


async def return_nothing(context: RunContext, message: str) -> None:
    return None


async def begin_a_task(context: RunContext, message: str) -> str:
    async def steps() -> str:
        return await context.ask(faq, "First?") + await context.ask(faq, "Second?")

    return await asyncio.create_task(steps())


FAILING = [raise_it, leave, raise_no_exception, leave_in_a_branch, cancel_itself]


@pytest.mark.parametrize("run", [*FAILING, return_a_number, return_nothing, begin_a_task])
async def test_a_coroutine_that_fails_ends_the_turn_and_the_log_says_why(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    turn = await make_harness(run).say()
    assert (turn.types[-1], turn.last["code"]) == ("RUN_ERROR", "internal_error")
    assert any(record.exc_info for record in caplog.records)


async def test_a_tool_that_exits_has_failed_and_its_worker_goes_on() -> None:
    async def run(context: RunContext, message: str) -> str:
        try:
            return await context.call(exits)
        except ToolFailed:
            return "It failed."

    assert (await make_harness(run, tools=[exits]).say()).text == "It failed."


async def test_arguments_that_no_text_in_utf_8_can_have_are_mended() -> None:
    async def run(context: RunContext, message: str) -> str:
        return await context.ask(faq, "Half a \ud83d?")

    harness = make_harness(run, answers=("Yes.",))
    assert (await harness.say()).text == "Yes."
    assert harness.model.requests[-1].prompts[-1].content == "Half a \ufffd?"


async def test_a_step_that_nobody_awaits_does_not_outlast_the_turn() -> None:
    has_begun, is_begun = [], asyncio.Event()

    @tool
    async def slow() -> str:
        """Work."""
        has_begun.append(1)
        is_begun.set()
        await asyncio.sleep(60)
        has_begun.append(2)
        return "Done."

    async def run(context: RunContext, message: str) -> str:
        working = asyncio.ensure_future(context.call(slow))
        await is_begun.wait()
        assert not working.done()
        return "Goodbye."

    turn = await make_harness(run, tools=[slow]).say()
    assert (turn.text, has_begun) == ("Goodbye.", [1])


async def test_code_that_takes_another_step_than_the_recorded_one_ends_the_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    questions = iter(["First?", "Second?"])

    async def run(context: RunContext, message: str) -> str:
        return await context.ask(faq, next(questions))

    harness = make_harness(run)
    fail_once(monkeypatch, harness.store, "put_message", after=1)
    with pytest.raises(StoreUnavailable):
        await harness.say()
    harness.clock.advance(60)
    turn = await harness.say()
    assert turn.last["code"] == "run_changed"
    assert "Step 1 was ask, and is another ask now." in turn.last["message"]


@pytest.mark.parametrize("location", ["before", "after"])
async def test_code_may_change_behind_the_step_that_a_turn_waits_for(location: str) -> None:
    refunds: list[int] = []

    @tool(approval="always")
    async def refund(euros: int) -> str:
        """Refund."""
        refunds.append(euros)
        return f"refunded {euros}"

    async def run(context: RunContext, message: str) -> str:
        await context.say("First.")
        return await context.call(refund, euros=1)

    async def changed(context: RunContext, message: str) -> str:
        await context.say("First." if location == "after" else "Changed.")
        return f"{await context.call(refund, euros=1)}!"

    agent = Agent("assistant", "Sell.", main=True, tools=[refund])
    agent.run(run)
    harness = make_coded_harness(agent)
    turn = await harness.say()
    agent.definition.code.run = changed
    turn = await answer(harness, *[yes(interrupt) for interrupt in turn.last["outcome"]["interrupts"]])
    assert refunds == [1]
    assert (turn.text, turn.last.get("code")) == (("refunded 1!", None) if location == "after" else ("", "run_changed"))


def test_what_cannot_be_a_coroutine_is_refused_when_it_is_declared() -> None:
    agent = Agent("assistant", "Sell.", main=True)
    with pytest.raises(WrongArgument, match="async def"):
        agent.run(lambda context, message: "No.")
    agent.run(raise_it)
    with pytest.raises(WrongArgument, match="already"):
        agent.run(raise_it)
    far = Agent("far", description="Far.", remote={"card_url": "https://far.example/card.json"})
    with pytest.raises(WrongArgument, match="remote"):
        far.run(raise_it)
    with pytest.raises(UnusableDefinition):
        Agent("assistant", 7)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [int, list[str]])
async def test_a_type_that_is_no_object_is_no_type_of_answers(wrong: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def run(context: RunContext, message: str) -> str:
        return str(await context.model("Count.", output_type=wrong))

    assert (await make_harness(run).say()).last["code"] == "internal_error"
    assert "is no object in JSON" in caplog.text
