"""Code of a project among other conversations: its exits, the tasks that it begins, and what it forgets or blocks."""

from __future__ import annotations

import asyncio
import inspect
import sys
import warnings
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from baton import Agent, RunContext, ToolFailed, tool
from baton.authoring import containment
from baton.authoring.containment import Blocked, Owner, contain
from tests.harness.coded import make_coded_harness
from tests.harness.harness import Harness

Run = Callable[[RunContext, str], Awaitable[Any]]


@tool
async def look() -> str:
    """Look."""
    return "seen"


faq = Agent("faq", "Answer.", description="Knows.")
repairs = Agent("repairs", "Repair.", description="Repairs.")


def make_harness(run: Run, *tools: Any) -> Harness:
    agent = Agent("assistant", "Sell.", main=True, tools=[look, *tools], sub_agents=[faq], handoffs=["repairs"])
    agent.run(run)
    return make_coded_harness(agent, faq, repairs, answers=("Yes.",) * 9)


async def forget_say(context: RunContext, message: str) -> str:
    context.say("Never shown.")  # type: ignore[unused-coroutine]
    return "Done."


async def forget_call(context: RunContext, message: str) -> str:
    context.call(look)  # type: ignore[unused-coroutine]
    return await context.ask(faq, "Well?")


async def forget_ask_before_a_handoff(context: RunContext, message: str) -> None:
    context.ask(faq, "Well?")  # type: ignore[unused-coroutine]
    await context.hand_over("repairs", reason="-", summary="-")


async def forget_in_a_branch(context: RunContext, message: str) -> str:
    async def branch() -> str:
        context.model("Think.")  # type: ignore[unused-coroutine]
        return "Done."

    await context.gather(branch(), context.call(look))
    return "Done."


async def forget_gather(context: RunContext, message: str) -> str:
    context.gather(context.call(look), context.call(look))  # type: ignore[unused-coroutine]
    return "Done."


async def return_a_step(context: RunContext, message: str) -> Any:
    return context.ask(faq, "Well?")


@pytest.mark.parametrize(
    ("run", "step", "line"),
    [
        (forget_say, "say", 1),
        (forget_call, "call", 1),
        (forget_ask_before_a_handoff, "ask", 1),
        (forget_in_a_branch, "model", 2),
        (forget_gather, "gather", 1),
        (return_a_step, "ask", 1),
    ],
)
async def test_a_step_without_await_ends_the_turn_and_is_named_with_its_line(
    run: Run, step: str, line: int, caplog: pytest.LogCaptureFixture
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        turn = await make_harness(run).say()
    assert (turn.last.get("code"), turn.text) == ("internal_error", "")
    location = f"{__file__}:{run.__code__.co_firstlineno + line}"  # type: ignore[attr-defined]
    assert f"{location}: context.{step} was not awaited" in caplog.text
    assert f"await context.{step}(...)" in caplog.text


async def test_a_step_may_be_awaited_later_and_in_a_task() -> None:
    async def run(context: RunContext, message: str) -> str:
        later = context.call(look)
        task = asyncio.create_task(context.ask(faq, "Well?"))  # type: ignore[arg-type]
        return f"{await task} {await later}"

    assert (await make_harness(run).say()).text == "Yes. seen"


async def exit_in_a_task(context: RunContext, message: str) -> str:
    async def leave() -> None:
        await asyncio.sleep(0)
        sys.exit(3)

    return str(await asyncio.create_task(leave()))


async def exit_in_a_task_of_a_task(context: RunContext, message: str) -> str:
    return str(await asyncio.create_task(exit_in_a_task(context, message)))


async def exit_in_a_group(context: RunContext, message: str) -> str:
    async with asyncio.TaskGroup() as group:
        group.create_task(exit_in_a_task(context, message))
    return "Done."


@pytest.mark.parametrize("run", [exit_in_a_task, exit_in_a_task_of_a_task, exit_in_a_group])
async def test_an_exit_in_a_task_of_run_fails_the_run_and_its_worker_goes_on(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    harness = make_harness(run)
    assert (await harness.say("m1")).last["code"] == "internal_error"
    assert "sys.exit(3) was called" in caplog.text
    assert (await harness.say("m2")).last["code"] == "internal_error"


async def test_an_exit_in_a_task_of_a_tool_fails_the_call() -> None:
    @tool
    async def leave() -> str:
        """Leave."""
        return await exit_in_a_task(None, "")  # type: ignore[arg-type]

    async def run(context: RunContext, message: str) -> str:
        try:
            return await context.call(leave)
        except ToolFailed:
            return "It failed."

    assert (await make_harness(run, leave).say()).text == "It failed."


async def test_an_exit_in_a_task_that_nobody_awaits_ends_nothing() -> None:
    async def run(context: RunContext, message: str) -> str:
        task = asyncio.create_task(exit_in_a_task(context, message))
        await asyncio.wait([task])
        task.exception()
        return "Goodbye."

    assert (await make_harness(run).say()).text == "Goodbye."


async def test_libraries_see_the_coroutine_of_a_task_as_it_is() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    async def run(context: RunContext, message: str) -> str:
        task = asyncio.create_task(wait())
        states = [inspect.getcoroutinestate(task.get_coro())]  # type: ignore[arg-type]
        await asyncio.sleep(0)
        states.append(inspect.getcoroutinestate(task.get_coro()))  # type: ignore[arg-type]
        [frame] = task.get_stack()
        task.cancel()
        return f"{states[0]} {states[1]} {frame.f_code.co_name} {wait.__qualname__ in repr(task)}"

    assert (await make_harness(run).say()).text == "CORO_CREATED CORO_SUSPENDED wait True"


class TestBlocking:
    @pytest.fixture(autouse=True)
    def clock(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """A clock that code moves by hand, so that no test waits out real seconds."""
        self.now = 0.0
        monkeypatch.setattr(containment.time, "perf_counter", lambda: self.now)
        yield
        monkeypatch.undo()

    def block(self, seconds: float) -> None:
        self.now += seconds

    async def test_code_that_blocks_the_event_loop_is_logged_with_its_agent_and_lines(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def run(context: RunContext, message: str) -> str:
            await context.call(look)
            self.block(3)
            await context.call(look)
            self.block(0.4)
            return "Done."

        assert (await make_harness(run).say()).text == "Done."
        [record] = [record for record in caplog.records if "has blocked" in record.message]
        first = run.__code__.co_firstlineno
        assert record.__dict__["agent"] == "assistant"
        assert record.__dict__["seconds"] == 3.0
        assert record.__dict__["function"].endswith("run")
        assert (record.__dict__["after"], record.__dict__["until"]) == (
            f"{__file__}:{first + 1}",
            f"{__file__}:{first + 3}",
        )

    async def test_a_branch_a_task_and_a_tool_that_block_are_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        @tool
        async def compute() -> str:
            """Compute."""
            self.block(1)
            return "computed"

        async def block() -> None:
            self.block(2)

        async def run(context: RunContext, message: str) -> str:
            await context.gather(block(), context.call(compute))
            await asyncio.create_task(block())
            return "Done."

        assert (await make_harness(run, compute).say()).text == "Done."
        results = [record.__dict__ for record in caplog.records if "has blocked" in record.message]
        assert sorted(item["seconds"] for item in results) == [1.0, 2.0, 2.0]
        assert {item["agent"] for item in results} == {"assistant"}

    async def test_the_time_of_steps_is_not_that_of_the_code_that_waits_for_them(
        self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def run(context: RunContext, message: str) -> str:
            await context.call(look)
            return "Done."

        harness = make_harness(run)
        original = harness.records.put_step

        async def slow(*arguments: Any, **named: Any) -> None:
            self.block(5)
            await original(*arguments, **named)

        monkeypatch.setattr(harness.records, "put_step", slow)
        assert (await harness.say()).text == "Done."
        assert "has blocked" not in caplog.text


async def test_results_errors_and_cancellations_pass_through_contained_code() -> None:
    async def work(ends: str) -> str:
        try:
            await asyncio.sleep(0)
            if ends == "waits":
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "cancelled"
        if ends == "fails":
            raise ValueError(ends)
        return ends

    noted: list[Blocked] = []
    owner = Owner("here", noted.append)
    assert await contain(work("returns"), owner) == "returns"
    with pytest.raises(ValueError, match="fails"):
        await contain(work("fails"), owner)
    waiting = asyncio.ensure_future(contain(work("waits"), owner))
    await asyncio.sleep(0.01)
    waiting.cancel()
    assert await waiting == "cancelled"
    never = asyncio.ensure_future(contain(work("never"), owner))
    never.cancel()
    with pytest.raises(asyncio.CancelledError):
        await never
    assert noted == []
