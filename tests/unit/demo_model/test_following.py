"""How the demo model follows a skill that matches the message."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from baton.agents.prompting import notes_for
from baton.agents.tool_kit import ToolKit
from baton.domain.agent import AgentDefinition
from baton.domain.skill import Skill, SkillStatus, draft_from
from baton.handoffs.running_conversation import RunningConversation
from local.demo_model.conversation import Conversation
from local.demo_model.reply import Call, Reply
from local.demo_model.rules import answer
from local.demo_model.wire import CalledFunction, CalledTool, ChatMessage, OfferedFunction
from tests.harness.harness import WordCounter

ASSISTANT = AgentDefinition(
    id="assistant", name="Assistant", description="Helps.", system_prompt="You help.", main=True
)
STEPS = [
    {"text": "Ask which channel it goes to.", "condition": "skip if the user has named a channel"},
    {"text": "Look the outage up with search_docs."},
    {"text": "Mark it as urgent.", "condition": "only if the message says urgent"},
    {"text": "Send the alert."},
]
SEARCH = OfferedFunction(
    name="search_docs",
    description="Search the pages.",
    parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)


def skill(name: str = "Slack Alert", **fields: Any) -> Skill:
    """An active skill of the assistant's."""
    draft = draft_from(
        {"name": name, "description": "Sends alerts.", "triggers": ["send slack alert"], "steps": STEPS, **fields}
    )
    now = datetime(2026, 3, 14, tzinfo=UTC)
    return Skill(draft, "t", "assistant", created_by="ada", created_at=now, version=1, status=SkillStatus.ACTIVE)


def said(
    text: str, *skills: Skill, tools: tuple[OfferedFunction, ...] = (), results: dict[str, str] | None = None
) -> Reply:
    """Its reply, told what Baton tells the main agent's model of the skills that match."""
    conversation = RunningConversation(thread=None, main=ASSISTANT, agent=ASSISTANT, describe=lambda _: None)  # type: ignore[arg-type]
    notes = notes_for(conversation, ToolKit({}), skills, text, WordCounter())
    messages = [ChatMessage(role="system", content=str(note.content)) for note in notes]
    messages.append(ChatMessage(role="user", content=text))
    if results:
        calls = [
            CalledTool(id=name, type="function", function=CalledFunction(name=name, arguments="{}")) for name in results
        ]
        messages.append(ChatMessage(role="assistant", tool_calls=calls))
        messages += [ChatMessage(role="tool", tool_call_id=name, content=told) for name, told in results.items()]
    return answer(Conversation.of(messages, {tool.name: tool for tool in tools}))


def test_it_says_which_skill_and_goes_through_its_steps() -> None:
    text = said("Please send a Slack alert", skill()).text
    assert text.startswith("I am following the skill **Slack Alert**:")
    assert "1. Ask which channel it goes to. *Please tell me which channel it goes to.*" in text
    assert "3. Mark it as urgent. *Left out: only if the message says urgent.*" in text
    assert "4. Send the alert." in text


@pytest.mark.parametrize(
    ("step", "request_"),
    [
        ("Ask for the details of the alert.", "Please tell me the details of the alert."),
        ("Ask the user about the date", "Please tell me the date."),
        ("Ask the user to name a channel.", "Please name a channel."),
        ("Clarify whether it is urgent.", "Please tell me whether it is urgent."),
        ("Confirm the amount.", "Please confirm the amount."),
        ("Check with the user that it may go out.", "Please confirm that it may go out."),
        ("Ask.", "Please tell me more."),
    ],
)
def test_a_step_that_asks_says_what_for(step: str, request_: str) -> None:
    assert f"1. {step} *{request_}*" in said("send slack alert", skill(steps=[{"text": step}])).text


@pytest.mark.parametrize("message", ["send a Slack alert to #ops", "Send an urgent Slack alert to the channel ops"])
def test_steps_are_left_out_as_their_conditions_say(message: str) -> None:
    text = said(message, skill()).text
    assert "1. Ask which channel it goes to. *Left out: skip if the user has named a channel.*" in text
    assert ("Left out: only if" not in text) is ("urgent" in message)


def test_it_uses_the_tools_that_its_steps_name_and_tells_what_they_said() -> None:
    reply = said("send a Slack alert", skill(), tools=(SEARCH,))
    assert reply == Reply("", (Call("search_docs", {"query": "send a Slack alert"}),))
    told = said("send a Slack alert", skill(), tools=(SEARCH,), results={"search_docs": "Region west is down."})
    assert told.calls == ()
    assert "2. Look the outage up with search_docs. *`search_docs` says: Region west is down.*" in told.text
    failed = said("send a Slack alert", skill(), tools=(SEARCH,), results={"search_docs": "Error: it is closed."})
    assert "*`search_docs` did not work: it is closed.*" in failed.text


def test_tools_of_steps_that_are_left_out_are_not_used() -> None:
    steps = [{"text": "Use search_docs.", "condition": "skip if the message says quickly"}, {"text": "Send it."}]
    assert said("quickly send slack alert", skill(steps=steps), tools=(SEARCH,)).calls == ()


def test_other_skills_that_match_are_named() -> None:
    text = said("send slack alert", skill(), skill("It's Second")).text
    assert "The message matches “It's Second” too" in text


def test_a_message_that_matches_none_is_answered_as_ever() -> None:
    assert said("Hello!", skill()).text.startswith("Hello!")
