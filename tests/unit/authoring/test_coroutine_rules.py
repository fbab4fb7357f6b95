"""Rules of all agents that hold for agents with ``run``: guardrails, hooks, handoffs, the state, usage and records."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from baton import Agent, CallContext, Handoff, Refuse, Replace, RunContext, ToolFailed, tool
from baton.domain.errors import ModelUnavailable, StoreUnavailable
from baton.domain.runs.task import TaskStatus
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from tests.fakes.chat_model import Answer
from tests.harness.armed import call
from tests.harness.coded import make_coded_harness
from tests.harness.failing_store import fail_once
from tests.harness.harness import Harness, Turn
from tests.harness.timed import in_virtual_time
from tests.harness.wiki import answer, yes


class Verdict(BaseModel):
    text: str
    points: int


@tool
async def add(item: str, context: CallContext) -> int:
    """Put an item into the cart."""
    context.state.setdefault("cart", []).append(item)
    return len(context.state["cart"])


@tool(required_permissions=["shop:vip"])
async def discount() -> str:
    """Give a discount."""
    return "ten percent"


@tool(approval="always")
async def refund(euros: int) -> str:
    """Refund."""
    return f"refunded {euros}"


faq = Agent("faq", "Answer.", description="Knows.", tools=[add])
repairs = Agent("repairs", "Repair.", description="Arranges repairs.")


def clerk(**fields: Any) -> Agent:
    options = {"tools": [add, discount, refund], "sub_agents": [faq], "handoffs": [Handoff(repairs)], **fields}
    return Agent("assistant", "Sell.", main=True, **options)


def texts(turn: Turn) -> list[str]:
    assert turn.finished is not None
    return [message.text for message in turn.finished.messages if message.role.value == "assistant" and message.text]


async def die_once(monkeypatch: pytest.MonkeyPatch, harness: Harness, *, after: int = 1) -> Turn:
    """The turn of a worker that took over from one that died before it had stored its answer."""
    fail_once(monkeypatch, harness.store, "put_message", after=after)
    with pytest.raises(StoreUnavailable):
        await harness.say()
    harness.clock.advance(60)
    return await harness.say()


class TestGuardrails:
    async def test_a_refused_question_begins_no_coroutine(self) -> None:
        agent, starts = clerk(), []

        @agent.input_guardrail
        def no(text: str) -> Refuse:
            return Refuse("Not that.")

        @agent.run
        async def run(context: RunContext, message: str) -> str:
            starts.append(message)
            return "Done."

        turn = await make_coded_harness(agent, faq, repairs).say()
        assert (texts(turn), starts) == (["Not that."], [])
        assert turn.types[-1] == "RUN_FINISHED"

    async def test_a_replaced_question_is_judged_once_also_after_a_takeover(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        agent, judged = clerk(), []

        @agent.input_guardrail
        def hide(text: str) -> Replace:
            judged.append(text)
            return Replace(f"hidden {len(judged)}")

        @agent.run
        async def run(context: RunContext, message: str) -> str:
            return f"{message}: {await context.ask(faq, message)}"

        harness = make_coded_harness(agent, faq, repairs, answers=("Yes.",))
        turn = await die_once(monkeypatch, harness)
        assert (texts(turn), judged) == (["hidden 1: Yes."], ["Hello"])
        assert turn.finished is not None
        assert turn.finished.messages[0].text == "hidden 1"

    async def test_a_consulted_agent_and_its_model_get_the_replaced_question_and_the_users_stays(self) -> None:
        agent, helper = clerk(sub_agents=["helper"]), Agent("helper", "Help.", description="Helps.")

        @agent.run
        async def ask(context: RunContext, message: str) -> str:
            return await context.ask(helper, "My card is 4111.")

        @helper.input_guardrail
        def hide(text: str) -> Replace:
            return Replace(text.replace("4111", "hidden"))

        @helper.run
        async def run(context: RunContext, message: str) -> str:
            return f"{message} {await context.model('Think.')}"

        harness = make_coded_harness(agent, faq, repairs, helper, answers=("Thought.",))
        turn = await harness.say("m1", "Hello")
        assert texts(turn) == ["My card is hidden. Thought."]
        assert "4111" not in str(harness.model.requests[0].prompts)
        assert turn.finished is not None
        assert turn.finished.messages[0].text == "Hello"

    @pytest.mark.parametrize("way", ["say", "return", "answer"])
    async def test_every_text_is_judged_before_it_is_shown(self, way: str) -> None:
        agent, after = clerk(), []

        @agent.output_guardrail
        def never(text: str) -> Refuse | None:
            return Refuse("I cannot say that.") if "secret" in text else None

        @agent.run
        async def run(context: RunContext, message: str) -> str | None:
            await context.say("Well.")
            hidden = await context.model("Think of it.")
            if way == "return":
                return hidden
            await (context.say(hidden) if way == "say" else context.answer())
            after.append(1)
            return None

        turn = await make_coded_harness(agent, faq, repairs, answers=("A secret.", "The secret.")).say()
        assert (texts(turn), after) == (["Well.", "I cannot say that."], [])
        assert "secret" not in turn.text
        assert turn.last["outcome"]["type"] == "success"

    async def test_hooks_judge_models_and_calls(self) -> None:
        agent = clerk()

        @agent.before_model
        def brief() -> str:
            return "Be brief."

        @agent.before_tool
        def cheap(name: str, arguments: dict[str, Any]) -> Refuse | Replace | None:
            if name == "ask_faq":
                return Refuse("Nobody is asked.")
            return Replace({"item": "rice"}) if arguments["item"] == "gold" else None

        @agent.run
        async def run(context: RunContext, message: str) -> str:
            await context.call(add, item="gold")
            try:
                await context.ask(faq, "Well?")
            except ToolFailed as failure:
                return f"{failure} {failure.is_refused} {context.state['cart']} {await context.model('Go.')}"
            return "No."

        harness = make_coded_harness(agent, faq, repairs, answers=("On.",))
        assert texts(await harness.say()) == ["Nobody is asked. True ['rice'] On."]
        assert harness.model.requests[0].contents[-1] == ("system", "Be brief.")


class TestCalls:
    async def test_an_agent_that_cannot_answer_is_a_failure_of_the_step(self) -> None:
        agent = clerk()

        @agent.run
        async def run(context: RunContext, message: str) -> str:
            try:
                return await context.ask(faq, "Well?")
            except ToolFailed as failure:
                return f"{failure} {failure.is_outage} {failure.is_refused}"

        harness = make_coded_harness(agent, faq, repairs, answers=(Answer((), ModelUnavailable("It is down.")),))
        assert texts(await harness.say()) == ["Faq could not answer: It is down. True False"]

    async def test_a_tool_without_the_users_permission_is_not_there(self) -> None:
        agent = clerk()

        @agent.run
        async def run(context: RunContext, message: str) -> str:
            try:
                return await context.call(discount)
            except ToolFailed as failure:
                return f"{failure}"

        harness = make_coded_harness(agent, faq, repairs)
        expected = "Assistant has no tool discount that it may call for this user here. Tools: add, refund."
        assert texts(await harness.say("m1")) == [expected]
        vip = Scope("acme", "ada", frozenset({"shop:vip"}))
        assert texts(await harness.say("m2", scope=vip)) == ["ten percent"]

    async def test_the_next_turn_knows_the_calls_with_their_results(self) -> None:
        agent = clerk()

        @agent.run
        async def run(context: RunContext, message: str) -> None:
            if message == "Add":
                await context.call(add, item="tea")
            await context.answer()

        harness = make_coded_harness(agent, faq, repairs, answers=("Added.", "Tea."))
        await harness.say("m1", "Add")
        await harness.say("m2", "What?")
        roles = [prompt.role.value for prompt in harness.model.requests[-1].prompts]
        assert roles == ["system", "user", "assistant", "tool", "assistant", "system", "user"]

    async def test_the_state_is_that_of_the_beginning_whenever_the_coroutine_begins_again(self) -> None:
        agent, seen = clerk(), []

        @agent.run
        async def run(context: RunContext, message: str) -> str:
            before = dict(context.state)
            await context.call(add, item=f"tea {len(before.get('cart', []))}")
            seen.append((before, dict(context.state)))
            return await context.call(refund, euros=1)

        harness = make_coded_harness(agent, faq, repairs)
        turn = await harness.say()
        turn = await answer(harness, *[yes(interrupt) for interrupt in turn.last["outcome"]["interrupts"]])
        assert texts(turn) == ["refunded 1"]
        assert seen == [({}, {"cart": ["tea 0"]})] * 2
        thread = await harness.store.get_thread(harness.ada, harness.thread_id)
        assert thread.conversation.data == {"cart": ["tea 0"]}

    async def test_a_worker_that_takes_over_applies_the_state_and_shows_everything_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        agent = clerk()

        @agent.run
        async def run(context: RunContext, message: str) -> str:
            await context.say("One.")
            return f"{await context.call(add, item='tea')} {await context.ask(faq, 'Well?')}"

        harness = make_coded_harness(agent, faq, repairs, answers=("Yes.",))
        turn = await die_once(monkeypatch, harness)
        assert texts(turn) == ["One.", "1 Yes."]
        assert next(e.body["content"] for e in turn.events if e.type == "TOOL_CALL_RESULT") == "1"
        thread = await harness.store.get_thread(harness.ada, harness.thread_id)
        assert thread.conversation.data == {"cart": ["tea"]}
        assert [source["title"] for source in turn.finished.messages[-1].sources] == ["Faq"]  # type: ignore[union-attr]


class TestConversations:
    async def test_a_coroutine_hands_over_and_a_specialist_with_one_returns(self) -> None:
        agent = clerk()
        desk = Agent("repairs", "Repair.", description="Arranges repairs.")

        @agent.run
        async def run(context: RunContext, message: str) -> str:
            if message == "Broken":
                await context.hand_over(desk, reason="broken", summary="A lamp is broken.")
            return "Main."

        @desk.run
        async def repair(context: RunContext, message: str) -> str:
            if message == "Done":
                await context.return_to_main("Repaired.")
            return f"Desk: {message}."

        harness = make_coded_harness(agent, faq, desk)
        assert texts(await harness.say("m1", "Broken")) == ["Desk: Broken."]
        assert texts(await harness.say("m2", "Glass")) == ["Desk: Glass."]
        await harness.say("m3", "Done")
        assert texts(await harness.say("m4", "Hello")) == ["Main."]

    async def test_a_handoff_that_is_not_declared_is_a_failure(self) -> None:
        agent = clerk(handoffs=[])

        @agent.run
        async def run(context: RunContext, message: str) -> str:
            try:
                await context.hand_over(repairs, reason="-", summary="-")
            except ToolFailed as failure:
                return str(failure)
            return "No."

        turn = await make_coded_harness(agent, faq, repairs).say()
        assert texts(turn) == ["Assistant cannot use transfer_to_repairs now."]

    async def test_a_consulted_agent_may_be_a_coroutine_that_asks_others(self) -> None:
        agent, helper = clerk(sub_agents=["helper"]), Agent("helper", "Help.", description="Helps.", sub_agents=[faq])

        @helper.run
        async def run(context: RunContext, message: str) -> str:
            await context.say("I ask.")
            return f"{message} {await context.ask(faq, 'And?')}"

        asks = Answer.calling(call("ask_helper", message="Well?"))
        harness = make_coded_harness(agent, faq, repairs, helper, answers=(asks, "Yes.", "It says yes."))
        turn = await harness.say()
        assert texts(turn) == ["It says yes."]
        assert str(harness.model.requests[-1].prompts[-1].content) == "I ask.\n\nWell? Yes."
        tasks, _ = await harness.records.list_tasks(harness.ada, harness.thread_id, limit=9, cursor=None)
        assert {task.agent_id: task.result for task in tasks} == {"helper": "I ask.\n\nWell? Yes.", "faq": "Yes."}

    async def test_a_consultation_that_the_coroutine_stops_waiting_for_is_cancelled(self) -> None:
        agent = clerk()

        @agent.run
        async def run(context: RunContext, message: str) -> str:
            try:
                async with asyncio.timeout(0.2):
                    return await context.ask(faq, "And?")
            except TimeoutError:
                return "It takes too long."

        harness = make_coded_harness(
            agent, faq, repairs, answers=(Answer(("Never.",), gate=asyncio.Event(), gate_at=0),)
        )
        turn = await harness.say()
        assert texts(turn) == ["It takes too long."]
        [task], _ = await harness.records.list_tasks(harness.ada, harness.thread_id, limit=9, cursor=None)
        assert (task.status, task.ended_at is None) == (TaskStatus.CANCELLED, False)
        assert [event.body["subagentRunId"] for event in turn.events if event.type == "SUBAGENT_ERROR"] == [task.id]

    async def test_consultations_of_an_agent_whose_time_is_over_are_cancelled(self) -> None:
        helper = Agent("helper", "Help.", description="Helps.", sub_agents=[faq], timeouts={"consult_seconds": 0.3})

        @helper.run
        async def run(context: RunContext, message: str) -> str:
            return await context.ask(faq, "And?")

        asks = Answer.calling(call("ask_helper", message="Well?"))
        slow = Answer(("Never.",), gate=asyncio.Event(), gate_at=0)
        harness = make_coded_harness(
            clerk(sub_agents=["helper"]), faq, repairs, helper, answers=(asks, slow, "It was slow.")
        )
        await harness.say()
        tasks, _ = await harness.records.list_tasks(harness.ada, harness.thread_id, limit=9, cursor=None)
        assert {task.agent_id: task.status for task in tasks} == {
            "helper": TaskStatus.TIMED_OUT,
            "faq": TaskStatus.CANCELLED,
        }

    async def test_an_answer_has_the_agents_type(self) -> None:
        agent = clerk(output_type=Verdict)

        @agent.run
        async def run(context: RunContext, message: str) -> Any:
            if message == "Model":
                return await context.answer("Judge.")
            return Verdict(text=message, points=7) if message == "Good" else {"text": message}

        harness = make_coded_harness(agent, faq, repairs, answers=('{"text": "By model", "points": 1}',))
        turn = await harness.say("m1", "Good")
        assert turn.last["result"] == {"text": "Good", "points": 7}
        assert (await harness.say("m2", "Bad")).last["code"] == "answer_invalid"
        assert (await harness.say("m3", "Model")).last["result"] == {"text": "By model", "points": 1}

    async def test_the_usage_of_all_models_counts_also_after_a_takeover(self, monkeypatch: pytest.MonkeyPatch) -> None:
        agent = clerk()

        @agent.run
        async def run(context: RunContext, message: str) -> str:
            return await context.model("One.") + await context.model("Two.", history=False)

        harness = make_coded_harness(agent, faq, repairs, answers=("1", "2"))
        turn = await die_once(monkeypatch, harness)
        assert texts(turn) == ["12"]
        assert turn.finished is not None
        assert turn.finished.messages[-1].end is not None
        assert turn.finished.messages[-1].end.usage == Usage(20, 4)
        assert harness.model.requests[1].contents[-1] == ("user", "Two.")

    async def test_the_inspector_has_the_requests_and_the_prompt_once(self) -> None:
        agent = clerk()

        @agent.run
        async def run(context: RunContext, message: str) -> str:
            return await context.model("One.") + await context.model("Two.")

        harness = make_coded_harness(agent, faq, repairs)
        turn = await harness.say()
        record = await harness.context(turn.events[0].body["runId"])
        assert len(record["calls"]) == 2
        assert [block["kind"] for block in record["blocks"]].count("system") == 1

    @pytest.mark.parametrize("step", ["model", "call", "nothing"])
    def test_a_run_that_the_user_stops_ends_where_it_waits(self, step: str) -> None:
        after: list[int] = []

        async def work() -> None:
            began, never = asyncio.Event(), asyncio.Event()

            @tool
            async def wait() -> str:
                """Wait."""
                await never.wait()
                return "Never."

            agent = clerk(tools=[wait])

            @agent.run
            async def run(context: RunContext, message: str) -> str:
                await context.say("One moment.")
                began.set()
                match step:
                    case "model":
                        await context.model("Think.")
                    case "call":
                        await context.call(wait)
                    case _:
                        await never.wait()
                after.append(1)
                return "Done."

            harness = make_coded_harness(agent, faq, repairs)
            harness.model.otherwise = Answer(("Never",), gate=never)
            running = asyncio.ensure_future(harness.say())
            await began.wait()
            await harness.controls.cancel(harness.ada, harness.thread_id, None)
            turn = await running
            assert (turn.last["outcome"]["type"], after) == ("cancelled", [])
            assert texts(turn) == ["One moment."]

        in_virtual_time(work)
