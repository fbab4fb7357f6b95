"""Hooks in Python around models, tools, consulted agents and handoffs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from baton import Agent, Desk, Handoff, Refuse, Replace, TurnContext, UnusableDefinition, resource, tool
from baton.authoring.errors import WrongArgument
from baton.domain.errors import ModelUnavailable, StoreUnavailable
from baton.domain.runs.provider_parts import ProviderParts, Replay
from baton.ports.agents.chat_model import MAX_ANSWER_BYTES
from tests.fakes.chat_model import Answer
from tests.harness.armed import call
from tests.harness.coded import make_coded_harness
from tests.harness.failing_store import fail_once
from tests.harness.harness import Harness, Turn
from tests.harness.wiki import answer, yes

payments: list[dict[str, Any]] = []


class Rules:
    """A resource that is opened once."""

    sentence = "By the rules."


@resource
def rules() -> Rules:
    """Open it."""
    return Rules()


@pytest.fixture(autouse=True)
def nothing_made() -> None:
    payments.clear()


@tool
async def pay(euros: int, to: str = "shop") -> str:
    """Pay."""
    payments.append({"euros": euros, "to": to})
    return f"paid {euros} by card 4111"


@tool(approval="always")
async def refund(euros: int) -> str:
    """Refund."""
    payments.append({"euros": euros})
    return "refunded"


def clerk(*tools: Any, **fields: Any) -> Agent:
    """The main agent of the tests."""
    return Agent("assistant", "Sell.", main=True, tools=tools, **fields)


def answer_with_payment(euros: int = 90) -> tuple[Answer | str, ...]:
    return Answer.calling(call("pay", euros=euros)), "Done."


def no_tips(agent: Agent) -> Agent:
    """Add a hook to the agent that refuses answers with tips, and return it."""

    @agent.after_model
    def judge(text: str) -> Refuse | None:
        return Refuse("No tips.") if "a tip" in text else None

    return agent


def list_shown_arguments(turn: Turn) -> list[str]:
    return [event.body["delta"] for event in turn.events if event.type == "TOOL_CALL_ARGS"]


def results(turn: Turn) -> list[str]:
    return [event.body["content"] for event in turn.events if event.type == "TOOL_CALL_RESULT"]


def read_last_prompt(harness: Harness) -> str:
    return "\n".join(str(prompt.content) for prompt in harness.model.requests[-1].prompts)


class TestTools:
    async def test_a_call_that_a_hook_refuses_is_not_made_and_the_model_learns_why(self) -> None:
        agent = clerk(pay)

        @agent.before_tool
        def limit(name: str, arguments: Mapping[str, Any], context: TurnContext) -> Refuse | None:
            assert (name, context.agent_id) == ("pay", "assistant")
            return Refuse("At most 50 euros.") if arguments["euros"] > 50 else None

        harness = make_coded_harness(agent, answers=answer_with_payment())
        turn = await harness.say()
        assert (payments, results(turn)) == ([], ["Error: At most 50 euros."])
        assert "At most 50 euros." in read_last_prompt(harness)

    async def test_a_call_is_made_and_recorded_with_the_arguments_of_a_hook(self) -> None:
        agent = clerk(pay)

        @agent.before_tool
        def cap(arguments: dict[str, Any]) -> Replace:
            return Replace({**arguments, "euros": 50})

        harness = make_coded_harness(agent, answers=answer_with_payment())
        await harness.say()
        assert payments == [{"euros": 50, "to": "shop"}]
        [record] = await list_records(harness)
        assert record.input == {"euros": 50}

    async def test_changes_of_the_arguments_without_a_verdict_have_no_effect(self) -> None:
        agent = clerk(pay)

        @agent.before_tool
        def careless(arguments: dict[str, Any]) -> None:
            arguments["euros"] = 1

        await make_coded_harness(agent, answers=answer_with_payment()).say()
        assert payments == [{"euros": 90, "to": "shop"}]

    async def test_arguments_of_a_hook_must_fit_the_tool(self) -> None:
        agent = clerk(pay)

        @agent.before_tool
        def wrong() -> Replace:
            return Replace({"euros": "many"})

        turn = await make_coded_harness(agent, answers=answer_with_payment()).say()
        assert payments == []
        assert results(turn)[0].startswith("Error: the call was not made: a hook has changed its arguments, which do")

    async def test_a_person_agrees_to_the_arguments_of_a_hook(self) -> None:
        agent = clerk(refund)

        @agent.before_tool
        def cap() -> Replace:
            return Replace({"euros": 1})

        harness = make_coded_harness(agent, answers=(Answer.calling(call("refund", euros=5)), "Done."))
        turn = await harness.say()
        [interrupt] = turn.last["outcome"]["interrupts"]
        assert (list_shown_arguments(turn), interrupt["metadata"]["arguments"]) == (['{"euros": 1}'], '{"euros": 1}')
        await answer(harness, yes(interrupt))
        assert payments == [{"euros": 1}]

    async def test_arguments_that_a_person_has_agreed_to_cannot_be_changed(self) -> None:
        agent = clerk(refund)

        @agent.before_tool
        def raise_it(arguments: dict[str, Any]) -> Replace:
            return Replace({"euros": arguments["euros"] + 1})

        harness = make_coded_harness(agent, answers=(Answer.calling(call("refund", euros=5)), "Done."))
        [interrupt] = (await harness.say()).last["outcome"]["interrupts"]
        turn = await answer(harness, yes(interrupt))
        assert payments == []
        assert "somebody has agreed to" in results(turn)[0]

    @pytest.mark.parametrize(
        ("verdict", "arguments"),
        [(Replace({"to": "[name]", "euros": 1}), {"to": "[name]", "euros": 1}), (Refuse(), {})],
    )
    async def test_nobody_sees_or_stores_arguments_before_a_hook_has_judged_them(
        self, verdict: Any, arguments: dict[str, Any]
    ) -> None:
        agent = clerk(pay)

        @agent.before_tool
        def judge() -> Any:
            return verdict

        asks = Answer.calling(call("pay", euros=1, to="Rufus"))
        parts = ProviderParts.of("test/m", Replay.ALWAYS, [{"call": 0, "signature": "Rufus"}])
        harness = make_coded_harness(agent, answers=(replace(asks, parts=parts), "Done.", "Fine."))
        turn = await harness.say("m1", "Pay.")
        await harness.say("m2", "Well?")
        assert [json.loads(shown_argument) for shown_argument in list_shown_arguments(turn)] == [arguments]
        assert turn.finished is not None
        inspected = await harness.context(turn.finished.messages[0].run_id)
        assert "Rufus" not in str((turn.events, harness.model.requests, await list_records(harness), inspected))
        [request] = [message for message in turn.finished.messages if message.tool_calls]
        assert ("Rufus" not in str(request), request.provider_parts) == (True, None)

    @pytest.mark.parametrize("euros", ["Rufus", 1])
    async def test_arguments_that_no_hook_judges_are_not_shown(self, euros: Any) -> None:
        agent = clerk(pay, limits={"tool_calls": 1})

        @agent.before_tool
        def allow() -> None: ...

        asks = Answer.calling(call("pay", euros=1), call("pay", euros=euros, to="Rufus"))
        turn = await make_coded_harness(agent, answers=(asks, "Done.")).say()
        assert (list_shown_arguments(turn)[1], payments) == ("{}", [{"euros": 1, "to": "shop"}])

    async def test_a_worker_that_takes_over_shows_the_arguments_of_the_recorded_call(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        agent, judged = clerk(pay), []

        @agent.before_tool
        def cap(arguments: dict[str, Any]) -> Replace:
            judged.append(arguments)
            return Replace({"euros": 50})

        harness = make_coded_harness(agent, answers=(*answer_with_payment(), *answer_with_payment()))
        fail_once(monkeypatch, harness.store, "put_message", after=1)
        with pytest.raises(StoreUnavailable):
            await harness.say()
        harness.clock.advance(60)
        turn = await harness.say()
        assert (len(judged), payments, list_shown_arguments(turn)) == (
            1,
            [{"euros": 50, "to": "shop"}],
            ['{"euros": 50}'],
        )

    async def test_a_run_that_is_stopped_while_a_hook_judges_makes_and_shows_no_call(self) -> None:
        agent, is_judging = clerk(pay), asyncio.Event()

        @agent.before_tool
        async def endless() -> None:
            is_judging.set()
            await asyncio.Event().wait()

        harness = make_coded_harness(agent, answers=answer_with_payment())
        saying = asyncio.ensure_future(harness.say())
        await is_judging.wait()
        await harness.controls.cancel(harness.ada, harness.thread_id, None)
        turn = await saying
        assert (turn.last["outcome"]["type"], payments) == ("cancelled", [])
        assert "90" not in str(list_shown_arguments(turn))

    async def test_hooks_of_one_call_share_nothing(self) -> None:
        agent, seen = clerk(pay), []

        @agent.before_tool
        def careless(arguments: dict[str, Any]) -> None:
            arguments["to"] = "me"

        @agent.before_tool
        def note(arguments: dict[str, Any]) -> None:
            seen.append(arguments)

        await make_coded_harness(agent, answers=answer_with_payment()).say()
        assert seen == [{"euros": 90}]

    async def test_an_approved_call_is_judged_before_it_is_asked_for_and_before_it_is_made(self) -> None:
        agent, judged = clerk(refund), []

        @agent.before_tool
        def note(name: str) -> None:
            judged.append(name)

        harness = make_coded_harness(agent, answers=(Answer.calling(call("refund", euros=5)), "Done."))
        [interrupt] = (await harness.say()).last["outcome"]["interrupts"]
        await answer(harness, yes(interrupt))
        assert (judged, payments) == (["refund", "refund"], [{"euros": 5}])

    async def test_the_model_and_the_record_have_the_result_that_a_hook_leaves(self) -> None:
        agent = clerk(pay)

        @agent.after_tool
        def mask(result: str) -> Replace:
            return Replace(result.replace("4111", "[card]"))

        harness = make_coded_harness(agent, answers=answer_with_payment())
        turn = await harness.say()
        assert results(turn) == ["paid 90 by card [card]"]
        assert "4111" not in read_last_prompt(harness)
        [record] = await list_records(harness)
        assert record.output == "paid 90 by card [card]"

    async def test_a_long_result_can_be_replaced_by_a_long_one(self) -> None:
        agent = clerk(pay, limits={"result_chars": 60_000})

        @agent.after_tool
        def lengthen() -> Replace:
            return Replace("x" * 50_000)

        assert results(await make_coded_harness(agent, answers=answer_with_payment()).say()) == ["x" * 50_000]

    async def test_a_refused_result_is_a_failed_call(self) -> None:
        agent = clerk(pay)

        @agent.after_tool
        def never(arguments: dict[str, Any], result: str) -> Refuse:
            return Refuse("The result is secret.")

        harness = make_coded_harness(agent, answers=answer_with_payment())
        assert results(await harness.say()) == ["Error: The result is secret."]
        [record] = await list_records(harness)
        assert (record.succeeded, record.output) == (False, None)

    @pytest.mark.parametrize(("on_failure", "count"), [("closed", 0), ("open", 1)])
    async def test_a_failing_hook_refuses_unless_it_is_open(self, on_failure: Any, count: int) -> None:
        agent = clerk(pay)

        @agent.before_tool(on_failure=on_failure)
        def broken() -> None:
            raise RuntimeError("down")

        await make_coded_harness(agent, answers=answer_with_payment()).say()
        assert len(payments) == count

    async def test_a_hook_that_does_not_answer_in_time_has_failed(self) -> None:
        agent = clerk(pay)

        @agent.before_tool(timeout_seconds=0.01)
        async def endless() -> None:
            await asyncio.Event().wait()

        await make_coded_harness(agent, answers=answer_with_payment()).say()
        assert payments == []


class TestModel:
    async def test_an_instruction_is_added_to_one_request(self) -> None:
        agent = clerk(pay)

        @agent.before_model
        def remind(messages: list[dict[str, str]]) -> str | None:
            return "Say thanks." if messages[-1]["role"] == "tool" else None

        harness = make_coded_harness(agent, answers=answer_with_payment())
        await harness.say()
        first, second = harness.model.requests
        assert "Say thanks." not in str(first.prompts)
        assert (second.prompts[-1].role.value, second.prompts[-1].content) == ("system", "Say thanks.")

    async def test_the_model_is_not_asked_if_a_hook_refuses(self) -> None:
        agent = clerk()

        @agent.before_model
        def closed() -> Refuse:
            return Refuse("We are closed.")

        harness = make_coded_harness(agent)
        turn = await harness.say()
        assert (turn.text, turn.types[-1], harness.model.requests) == ("We are closed.", "RUN_FINISHED", [])

    async def test_calls_of_an_answer_that_a_hook_refuses_are_not_made(self) -> None:
        agent = clerk(pay)

        @agent.after_model
        def no_money(text: str, calls: list[dict[str, Any]]) -> Refuse | None:
            assert text == "I pay."
            return Refuse("No.") if calls == [{"name": "pay", "arguments": {"euros": 9}}] else None

        harness = make_coded_harness(agent, answers=(Answer.calling(call("pay", euros=9), text="I pay."),))
        turn = await harness.say()
        assert turn.finished is not None
        assert (turn.finished.messages[-1].text, payments) == ("No.", [])

    async def test_an_answer_that_was_cut_is_judged(self) -> None:
        agent = no_tips(clerk())
        harness = make_coded_harness(agent, answers=(Answer(("Here is a tip", ". " * MAX_ANSWER_BYTES)),))
        turn = await harness.say()
        assert turn.finished is not None
        assert turn.finished.messages[-1].text == "No tips."

    async def test_an_answer_that_its_user_has_stopped_is_judged(self) -> None:
        gate = asyncio.Event()
        harness = make_coded_harness(
            no_tips(clerk()), answers=(Answer(("Here is a tip: ", "buy."), gate=gate, gate_at=1),)
        )
        saying = asyncio.ensure_future(harness.say())
        await harness.wait_for_requests()
        await harness.controls.cancel(harness.ada, harness.thread_id, None)
        turn = await saying
        assert turn.last["outcome"]["type"] == "cancelled"
        assert turn.finished is not None
        assert turn.finished.messages[-1].text == "No tips."

    async def test_an_answer_whose_model_has_failed_is_judged(self) -> None:
        harness = make_coded_harness(no_tips(clerk()), answers=(Answer(("Here is a tip",), ModelUnavailable("down")),))
        turn = await harness.say()
        assert turn.finished is not None
        assert turn.finished.messages[-1].text == "No tips."

    async def test_hooks_take_resources(self) -> None:
        agent = clerk()

        @agent.before_model
        def ask(stored: Rules) -> Refuse:
            return Refuse(stored.sentence)

        harness = make_coded_harness(agent)
        harness.functions.packages = lambda: (__name__,)
        assert (await harness.say()).text == "By the rules."


class TestOtherAgents:
    @pytest.mark.parametrize(
        ("verdict", "result"), [(Replace("It is [card]."), "It is [card]."), (Refuse("No."), None)]
    )
    async def test_an_answer_is_stored_as_the_hooks_of_the_agent_that_has_asked_leave_it(
        self, verdict: Any, result: str | None
    ) -> None:
        agent = clerk(sub_agents=[faq := Agent("faq", "Answer.")])

        @agent.after_tool
        def mask() -> Any:
            return verdict

        asks = Answer.calling(call("ask_faq", message="?"))
        harness = make_coded_harness(agent, faq, answers=(asks, "It is 4111.", "Done."))
        await harness.say()
        [task], _ = await harness.records.list_tasks(harness.ada, harness.thread_id, limit=10, cursor=None)
        assert task.result == result
        assert "is 4111" not in str((task, await list_records(harness)))

    async def test_a_replaced_question_of_another_agent_is_stored_as_it_was_replaced(self) -> None:
        faq = Agent("faq", "Answer.")

        @faq.input_guardrail
        def mask(text: str) -> Replace:
            return Replace(text.replace("4111", "[card]"))

        asks = Answer.calling(call("ask_faq", message="Is 4111 fine?"))
        harness = make_coded_harness(clerk(sub_agents=[faq]), faq, answers=(asks, "Stale.", "Yes.", "Done."))
        await harness.say()
        [task], _ = await harness.records.list_tasks(harness.ada, harness.thread_id, limit=10, cursor=None)
        assert task.message == "Is [card] fine?"
        assert "Is 4111" not in str(task)

    async def test_guardrails_of_a_consulted_agent_judge_its_question_and_its_answer(self) -> None:
        faq = Agent("faq", "Answer.")

        @faq.output_guardrail
        def mask(text: str) -> Replace:
            return Replace(text.replace("4111", "[card]"))

        harness = make_coded_harness(
            clerk(sub_agents=[faq]), faq, answers=(Answer.calling(call("ask_faq", message="?")), "It is 4111.", "Done.")
        )
        await harness.say()
        assert "It is [card]." in read_last_prompt(harness)
        assert "4111" not in read_last_prompt(harness)

    async def test_a_refused_question_of_another_agent_leaves_the_users_own_alone(self) -> None:
        faq = Agent("faq", "Answer.")

        @faq.input_guardrail
        def never(text: str) -> Refuse:
            return Refuse("Ask somebody else.")

        asks = Answer.calling(call("ask_faq", message="?"))
        harness = make_coded_harness(clerk(sub_agents=[faq]), faq, answers=(asks, "Stale.", "Done.", "Fine."))
        turn = await harness.say("m1", "A question")
        assert results(turn)
        await harness.say("m2", "Another")
        assert "Ask somebody else." in str(harness.model.requests[-2].prompts)
        assert "A question" in read_last_prompt(harness)

    @pytest.mark.parametrize("triggers", [[], ["fix it"]])
    async def test_a_refused_handoff_leaves_the_conversation_where_it_is(self, triggers: list[str]) -> None:
        repairs = Agent("repairs", "Repair.", triggers=triggers)
        agent = clerk(handoffs=[Handoff(repairs)])

        @agent.on_handoff
        def closed(agent: str, context: TurnContext) -> Refuse:
            assert (agent, context.agent_id) == ("repairs", "assistant")
            return Refuse("The workshop is closed.")

        moves = Answer.calling(call("transfer_to_repairs", reason="broken", context_summary="It is broken."))
        harness = make_coded_harness(agent, repairs, answers=(moves, "Sorry."))
        turn = await harness.say("m1", "fix it")
        thread = await harness.store.get_thread(harness.ada, harness.thread_id)
        assert thread.conversation.handoff is None
        assert turn.text == ("The workshop is closed." if triggers else "Sorry.")
        if not triggers:
            assert "The workshop is closed." in read_last_prompt(harness)

    async def test_after_a_refused_handoff_the_agent_can_hand_over_to_another_agent(self) -> None:
        repairs, sales = Agent("repairs", "Repair."), Agent("sales", "Sell.")
        agent = clerk(handoffs=[Handoff(repairs), Handoff(sales)])

        @agent.on_handoff
        def closed(agent: str) -> Refuse | None:
            return Refuse("The workshop is closed.") if agent == "repairs" else None

        first, second = (
            Answer.calling(call(f"transfer_to_{name}", reason="broken", context_summary="It is broken."))
            for name in ("repairs", "sales")
        )
        harness = make_coded_harness(agent, repairs, sales, answers=(first, second, "Buy a new one."))
        turn = await harness.say("m1", "fix it")
        thread = await harness.store.get_thread(harness.ada, harness.thread_id)
        assert (turn.text, thread.conversation.agent_id) == ("Buy a new one.", "sales")


class TestDefinitions:
    def test_wrong_arguments_are_refused(self) -> None:
        agent = clerk()
        with pytest.raises(WrongArgument, match="on_failure is 'maybe'"):
            agent.before_tool(on_failure="maybe")  # type: ignore[call-overload]
        with pytest.raises(WrongArgument, match="at most 60"):
            agent.before_tool(timeout_seconds=61)
        for _ in range(8):
            agent.before_tool(print)
        with pytest.raises(WrongArgument, match="at most 8"):
            agent.before_tool(print)

    @pytest.mark.parametrize("adds", ["output_guardrail", "on_handoff", "prompt", "run"])
    @pytest.mark.parametrize(
        ("agent", "reason"),
        [
            (Agent("far", remote={"card_url": "https://far.example.com"}), "not for remote ones"),
            (Desk("people"), "not for desks"),
        ],
        ids=["remote", "desk"],
    )
    def test_an_agent_without_a_model_here_has_no_functions(self, agent: Agent, reason: str, adds: str) -> None:
        async def function() -> None: ...

        with pytest.raises(WrongArgument, match=reason):
            getattr(agent, adds)(function)

    def test_a_remote_agent_has_no_endpoints(self) -> None:
        with pytest.raises(UnusableDefinition, match="leave `guardrails` out"):
            Agent(
                "far",
                remote={"card_url": "https://far.example.com"},
                guardrails=[{"name": "policy", "url": "https://policy.example.com"}],
            )


async def list_records(harness: Harness) -> list[Any]:
    """The records of the tool calls."""
    page, _ = await harness.records.list_calls(harness.ada, harness.thread_id, limit=10, cursor=None)
    return list(page)
