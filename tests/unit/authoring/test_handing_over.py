"""Code that hands the conversation over, to a specialist or to the people of a desk."""

from __future__ import annotations

from typing import Any

import pytest

from baton import Agent, Desk, HandOver, Refuse, Replace, RunContext
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.sentences import write_sentence
from baton.domain.desks.desk_session import DeskStatus
from tests.fakes.chat_model import Answer
from tests.harness.armed import call
from tests.harness.coded import make_coded_harness
from tests.harness.guardrail_endpoint import POLICY, UNCHECKED, Endpoint
from tests.harness.handoffs import texts
from tests.harness.harness import Harness

SUPPORT = Desk("support")
WAITING = ("Support", write_sentence(SUPPORT.definition, "desk_waiting", agent="Support"))


def clerk(*others: Agent, **fields: Any) -> Agent:
    """The main agent of the tests."""
    return Agent("assistant", "Sell.", main=True, handoffs=list(others), **fields)


def hand_over_angry_users(agent: Agent, *verdicts: HandOver) -> Agent:
    """Give the agent a hook that hands angry users over, and return the agent."""
    verdict = verdicts[0] if verdicts else HandOver(SUPPORT, summary="Ada is angry.")

    @agent.before_model
    def calm(messages: list[dict[str, str]]) -> HandOver | None:
        return verdict if "outrageous" in messages[-1]["text"] else None

    return agent


async def active(harness: Harness) -> str:
    """The id of the agent that has the conversation."""
    return (await harness.store.get_thread(harness.ada, harness.thread_id)).active_agent_id


async def list_handoffs(harness: Harness) -> list[tuple[str, str, str]]:
    """The target, the reason and the summary of each handoff."""
    handoffs, _ = await harness.handoffs.of_thread(harness.ada, harness.thread_id, limit=5, cursor=None)
    return [(handoff.target_agent_id, handoff.handoff_reason, handoff.context_summary) for handoff in handoffs]


async def test_a_hook_hands_over_to_people_before_any_model_speaks() -> None:
    harness = make_coded_harness(hand_over_angry_users(clerk(SUPPORT)), SUPPORT)
    assert (await harness.say("m1", "Hello")).text == "Hello there."
    request_count = len(harness.model.requests)
    turn = await harness.say("m2", "This is outrageous")
    assert texts(turn) == [WAITING]
    assert len(harness.model.requests) == request_count
    assert await list_handoffs(harness) == [("support", "calm", "Ada is angry.")]
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.conversation.desk is not None
    assert (thread.conversation.desk.status, thread.conversation.desk.last_message) == (
        DeskStatus.WAITING,
        "This is outrageous",
    )
    [judgement] = (await harness.context(thread_run(turn)))["guardrails"]
    assert (judgement["point"], judgement["name"], judgement["verdict"]) == ("before_model", "calm", "hand_over")


def thread_run(text: Any) -> str:
    """The id of a turn's run."""
    return str(text.finished.messages[-1].run_id)


async def test_a_hook_takes_an_answer_back_and_a_specialist_answers_in_the_same_turn() -> None:
    lawyer = Agent("lawyer", "Advise.")
    agent = clerk(lawyer)

    @agent.after_model
    def no_advice(text: str) -> HandOver | None:
        return HandOver("lawyer", reason="a question of law") if "sue" in text else None

    harness = make_coded_harness(agent, lawyer, answers=("You should sue them.", "Ada asks about law.", "It depends."))
    turn = await harness.say("m1", "What now?")
    taken_back = [event.body["messageId"] for event in turn.events if event.type == "TEXT_MESSAGE_END"]
    assert texts(turn)[-1] == ("Lawyer", "It depends.")
    assert len(taken_back) == 2
    assert await list_handoffs(harness) == [("lawyer", "a question of law", "Ada asks about law.")]
    page = await harness.store.read_messages(
        harness.ada, await harness.store.get_thread(harness.ada, harness.thread_id), limit=10, before=None
    )
    assert [message.text for message in page.messages] == ["What now?", "It depends."]


@pytest.mark.parametrize("refuses", [False, True])
async def test_people_get_what_guardrails_have_left_of_the_question(refuses: bool) -> None:
    agent = hand_over_angry_users(clerk(SUPPORT))

    @agent.input_guardrail
    async def judge(text: str) -> Replace | Refuse | None:
        return Refuse("Be polite.") if refuses else Replace(text.replace("4111", "[card]"))

    harness = make_coded_harness(agent, SUPPORT)
    turn = await harness.say("m1", "4111 outrageous")
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    if refuses:
        assert (turn.text, thread.conversation.desk) == ("Be polite.", None)
        return
    assert texts(turn) == [WAITING]
    [question, *_] = (await harness.store.read_messages(harness.ada, thread, limit=10, before=None)).messages
    assert question.text == "[card] outrageous"


async def test_handoffs_of_hooks_obey_the_rules_of_handoffs() -> None:
    forbidden = Desk("support", required_permissions=["shop:vip"])
    harness = make_coded_harness(hand_over_angry_users(clerk(forbidden)), forbidden)
    turn = await harness.say("m1", "outrageous")
    assert turn.text == "You don't have permission to use Support. Can I help with something else?"
    assert await active(harness) == "assistant"

    agent = hand_over_angry_users(clerk(SUPPORT))

    @agent.on_handoff
    def closed(agent: str) -> Refuse:
        return Refuse(f"Not to {agent}.")

    harness = make_coded_harness(agent, SUPPORT)
    assert (await harness.say("m1", "outrageous")).text == "Not to support."
    assert await active(harness) == "assistant"


async def test_a_hook_that_hands_over_where_it_cannot_has_failed() -> None:
    harness = make_coded_harness(hand_over_angry_users(clerk(), HandOver("support")), SUPPORT)
    assert (await harness.say("m1", "outrageous")).text == UNCHECKED

    helper = hand_over_angry_users(Agent("helper", "Help.", handoffs=[SUPPORT]))
    harness = make_coded_harness(
        Agent("assistant", "Sell.", main=True, sub_agents=[helper]),
        helper,
        SUPPORT,
        answers=(Answer.calling(call("ask_helper", message="outrageous")), "Sorry."),
    )
    assert (await harness.say("m1", "Ask your helper")).text == "Sorry."
    assert await active(harness) == "assistant"


async def test_a_desk_that_is_not_deployed_gets_nothing_and_the_user_a_sentence() -> None:
    harness = make_coded_harness(hand_over_angry_users(clerk(SUPPORT)))
    assert (await harness.say("m1", "outrageous")).text.startswith("The support is currently unavailable.")
    assert await active(harness) == "assistant"


async def test_a_coroutine_hands_over_to_people() -> None:
    agent = clerk(SUPPORT)

    @agent.run
    async def answer(context: RunContext, message: str) -> str | None:
        if "outrageous" in message:
            await context.hand_over(SUPPORT, reason="anger", summary="Ada is angry.")
        return "Hello."

    harness = make_coded_harness(agent, SUPPORT)
    assert (await harness.say("m1", "Hello")).text == "Hello."
    assert texts(await harness.say("m2", "outrageous")) == [WAITING]
    assert await list_handoffs(harness) == [("support", "anger", "Ada is angry.")]
    assert harness.model.requests == []


async def test_an_endpoint_hands_over() -> None:
    verdict = {"verdict": "hand_over", "agentId": "support", "reason": "anger", "summary": "Ada is angry."}
    endpoint = Endpoint(lambda body: verdict)
    agent = AgentDefinition.model_validate(
        clerk(SUPPORT).definition.model_dump() | {"guardrails": [POLICY | {"checks": ["before_model"]}]}
    )
    harness = Harness(assistant=agent, others=(SUPPORT.definition,), tools=endpoint.toolbox)
    assert texts(await harness.say("m1", "outrageous")) == [WAITING]
    assert await list_handoffs(harness) == [("support", "anger", "Ada is angry.")]
