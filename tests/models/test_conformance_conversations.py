"""Conversations with every endpoint: what is said, called and noted in them is never refused."""

from __future__ import annotations

import pytest

from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import FinishReason, Prompt
from tests.models.endpoints import KNOWN, UNKNOWN_CHAT, Endpoint, adapter, parametrise
from tests.models.standins import StandIns
from tests.models.talking import TOOLS, Talk

CALLS = 'use the tool add with {"x": 1}'
MAX_LEARNED = 6
"""Refusals after which the adapter knows an endpoint of which nothing is declared."""


def rule_refusals(stand_ins: StandIns) -> list[str]:
    """Return why requests were refused, but for Groq's first call of a tool, which is at random."""
    bodies = [str(received.refusal.body) for received in stand_ins.journal.refused if received.refusal]
    return [body for body in bodies if "tool_use_failed" not in body]


@pytest.mark.parametrize(**parametrise(KNOWN))
async def test_a_plain_answer_streams_and_ends_once_with_its_usage(stand_ins: StandIns, endpoint: Endpoint) -> None:
    async with adapter(stand_ins, endpoint) as model:
        talk = Talk(model, endpoint)
        assert (await talk.say("Hello there", tools=())).endswith("Hello there")
        assert talk.last is not None
        assert len(talk.last.chunks) > 2
        assert talk.last.end.reason is FinishReason.STOP
        usage = talk.last.end.usage
        assert usage is not None or endpoint.name.startswith("mistral")
        assert usage is None or usage.input_tokens > usage.output_tokens > 0
    assert rule_refusals(stand_ins) == []


async def hold(talk: Talk) -> None:
    """Hold a conversation of ten turns with calls, several at once, a last round, and empty results."""
    for turn in range(2):
        assert (await talk.say("Hello")).endswith("Hello")
        assert (await talk.say(f"think and {CALLS} 3 times")).count("add done") == 3
        answer = await talk.say('think and use add and note in parallel with {"x": 1}')
        assert ("add done" in answer, "note done" in answer) == (True, True)
        await talk.say(f"{CALLS} 5 times", rounds=2)
        assert (await talk.say(f"think of {turn}")).endswith(f"think of {turn}")
        await talk.say("use the tool now", results={"now": ""})


@pytest.mark.long_conversation
@pytest.mark.parametrize(**parametrise(KNOWN))
async def test_a_conversation_with_tools_is_never_refused(stand_ins: StandIns, endpoint: Endpoint) -> None:
    stand_ins.chat.contexts["ollama"] = 32_000  # what does not fit would be cut silently
    async with adapter(stand_ins, endpoint) as model:
        await hold(Talk(model, endpoint, temperature=0.5, max_output_tokens=2000, cache_key="thread"))
    assert rule_refusals(stand_ins) == []


@pytest.mark.parametrize(**parametrise(UNKNOWN_CHAT))
async def test_what_an_unknown_endpoint_refuses_is_learned(stand_ins: StandIns, endpoint: Endpoint) -> None:
    stand_ins.chat.contexts["ollama"] = 32_000  # what does not fit would be cut silently
    async with adapter(stand_ins, endpoint) as model:
        await hold(Talk(model, endpoint, temperature=0.5, max_output_tokens=2000, cache_key="thread"))
        assert len(rule_refusals(stand_ins)) <= MAX_LEARNED
        stand_ins.journal.reset()
        await hold(Talk(model, endpoint, temperature=0.5, max_output_tokens=2000, cache_key="thread"))
    assert rule_refusals(stand_ins) == []


ODD_HISTORIES: dict[str, list[Prompt]] = {
    "a window that begins with an answer": [Prompt(Role.ASSISTANT, "Hi."), Prompt(Role.USER, "Hello")],
    "two questions, the first of which failed": [Prompt(Role.USER, "Hi"), Prompt(Role.USER, "Hello")],
    "two answers in a row": [
        Prompt(Role.USER, "Hi"),
        Prompt(Role.ASSISTANT, "One."),
        Prompt(Role.ASSISTANT, "Two."),
        Prompt(Role.USER, "Hello"),
    ],
    "blank messages": [Prompt(Role.USER, " "), Prompt(Role.ASSISTANT, ""), Prompt(Role.USER, "Hello")],
    "notes of the system in the middle and at the end": [
        Prompt(Role.SYSTEM, "It rains."),
        Prompt(Role.USER, "Hi"),
        Prompt(Role.SYSTEM, "Be short."),
        Prompt(Role.ASSISTANT, "Hi."),
        Prompt(Role.SYSTEM, "It snows."),
        Prompt(Role.USER, "Hello"),
        Prompt(Role.SYSTEM, "Be very short."),
    ],
    "context in front of the history, in it and before the message": [
        Prompt(Role.CONTEXT, "A summary."),
        Prompt(Role.USER, "Hi"),
        Prompt(Role.ASSISTANT, "", tool_calls=(ToolCall("a", "add", "{}"),)),
        Prompt(Role.TOOL, "2", tool_call_id="a"),
        Prompt(Role.CONTEXT, "A report."),
        Prompt(Role.ASSISTANT, "Hi."),
        Prompt(Role.SYSTEM, "Steps to follow."),
        Prompt(Role.CONTEXT, "It snows."),
        Prompt(Role.CONTEXT, "It is cold."),
        Prompt(Role.SYSTEM, "Today is Thursday."),
        Prompt(Role.USER, "Hello"),
    ],
    "context behind an answer that is the last": [
        Prompt(Role.USER, "Hi"),
        Prompt(Role.ASSISTANT, "Hi."),
        Prompt(Role.CONTEXT, "It snows."),
        Prompt(Role.USER, "Hello"),
        Prompt(Role.SYSTEM, "Be short."),
    ],
    "calls with malformed arguments, a long id and an empty result": [
        Prompt(Role.USER, "Hi"),
        Prompt(Role.ASSISTANT, "", tool_calls=(ToolCall("a/" * 40, "add", '{"half": '), ToolCall("b", "add", "[1]"))),
        Prompt(Role.TOOL, "", tool_call_id="a/" * 40),
        Prompt(Role.TOOL, "Error: it failed", tool_call_id="b"),
        Prompt(Role.ASSISTANT, "Sorry."),
        Prompt(Role.USER, "Hello"),
    ],
    "calls with text beside them, and a note behind the result": [
        Prompt(Role.USER, "Hi"),
        Prompt(Role.ASSISTANT, "Let me see.", tool_calls=(ToolCall("a", "add", "{}"),)),
        Prompt(Role.TOOL, "2", tool_call_id="a"),
        Prompt(Role.SYSTEM, "It rains."),
        Prompt(Role.ASSISTANT, "Two."),
        Prompt(Role.USER, "Hello"),
    ],
    "a result whose call the window has cut": [Prompt(Role.TOOL, "2"), Prompt(Role.USER, "Hello")],
    "a call of a tool that is offered no more": [
        Prompt(Role.USER, "Hi"),
        Prompt(Role.ASSISTANT, "", tool_calls=(ToolCall("a", "gone", "{}"),)),
        Prompt(Role.TOOL, "2", tool_call_id="a"),
        Prompt(Role.ASSISTANT, "Two."),
        Prompt(Role.USER, "Hello"),
    ],
}


@pytest.mark.parametrize(**parametrise(KNOWN))
async def test_odd_histories_are_sent_in_a_form_that_is_taken(stand_ins: StandIns, endpoint: Endpoint) -> None:
    async with adapter(stand_ins, endpoint) as model:
        for name, history in ODD_HISTORIES.items():
            for tools in (TOOLS, ()):
                talk = Talk(model, endpoint)
                talk.prompts += history
                answer = await talk.ask(tools)
                assert ("Hello" in answer.text, rule_refusals(stand_ins)) == (True, []), name
