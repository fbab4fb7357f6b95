"""When the demo model hands the conversation over, and how it sums it up for whoever takes it."""

from __future__ import annotations

from typing import Any

import pytest

from baton.dialogue.handoff_summary import SUMMARISE
from local.demo_model.conversation import Conversation
from local.demo_model.reply import Reply
from local.demo_model.rules import answer
from local.demo_model.wire import ChatMessage, OfferedFunction

UNFINISHED = {"w-1": "your Slack Alert skill", "w-2": "your Digest skill"}
WELCOME = "Welcome back! Would you like to continue creating your Slack Alert skill?"
SKILLS = "transfer_to_skill_creation_agent"


def transfer(name: str = SKILLS, unfinished: dict[str, str] | None = None) -> OfferedFunction:
    """The tool that hands over, as Baton describes it."""
    properties: dict[str, Any] = {"reason": {"type": "string"}, "context_summary": {"type": "string"}}
    if unfinished:
        about = "Only to continue what was left unfinished: " + "; ".join(f"{k} is {v}" for k, v in unfinished.items())
        properties["workflow_id"] = {"type": "string", "enum": list(unfinished), "description": about}
    return OfferedFunction(
        name=name,
        description="Hand the conversation over to Skill Creation Assistant: Builds custom skills.",
        parameters={"type": "object", "properties": properties},
    )


def says(*said: str, tool: OfferedFunction | None = None) -> Reply:
    """Its reply to the last; the user and the assistant have spoken in turns."""
    roles = ["user" if (len(said) - place) % 2 else "assistant" for place in range(len(said))]
    messages = [ChatMessage(role="system", content="You are Assistant.")]
    messages += [
        ChatMessage.model_validate({"role": role, "content": text}) for role, text in zip(roles, said, strict=True)
    ]
    offered = tool or transfer()
    return answer(Conversation.of(messages, {offered.name: offered}))


@pytest.mark.parametrize(
    "text",
    [
        "could you help me automate my weekly report as a skill?",
        "Please make me a useful skill for invoices",
        "Let's turn this into a skill",
        "I'd like to teach you a skill",
        "Can I talk to the skill creation assistant?",
        "connect me with the skill specialist",
    ],
)
def test_it_hands_over_to_whom_a_wish_belongs(text: str) -> None:
    [call] = says(text).calls
    assert call.name == SKILLS
    assert call.arguments["reason"] == "The user asks for Skill Creation Assistant."
    assert "workflow_id" not in call.arguments


@pytest.mark.parametrize(
    "text",
    ["What is a skill?", "Which skills do I have?", "Hello!", "yes", "continue", "I live in Vienna", "What is 2 + 2?"],
)
def test_it_keeps_what_asks_for_nobody(text: str) -> None:
    assert says(text).calls == ()


@pytest.mark.parametrize("text", ["yes", "Yes, please!", "continue", "Let's continue with that", "ja", "sure, go on"])
def test_what_was_offered_goes_on_when_the_user_agrees(text: str) -> None:
    [call] = says("Hi", WELCOME, text, tool=transfer(unfinished=UNFINISHED)).calls
    assert call.arguments == {
        "reason": "The user wants to continue.",
        "context_summary": "User wants to continue your Slack Alert skill.",
        "workflow_id": "w-1",
    }


def test_what_is_named_goes_on_without_an_offer() -> None:
    [call] = says("I want to continue your digest skill", tool=transfer(unfinished=UNFINISHED)).calls
    assert call.arguments["workflow_id"] == "w-2"
    [call] = says("continue", tool=transfer(unfinished=UNFINISHED)).calls
    assert call.arguments["workflow_id"] == "w-1"


@pytest.mark.parametrize("text", ["no", "No, thanks", "hello", "What is 2 + 2?", "what does continue mean?"])
def test_what_was_offered_waits_otherwise(text: str) -> None:
    reply = says("Hi", WELCOME, text, tool=transfer(unfinished=UNFINISHED))
    assert reply.calls == ()
    assert reply.text


@pytest.mark.parametrize("text", ["no thanks", "No, thank you!", "not now", "maybe later", "nope", "nein danke"])
def test_who_declines_what_was_offered_is_answered_politely(text: str) -> None:
    waits = Reply("All right, it can wait. What else can I do for you?")
    assert says("Hi", WELCOME, text, tool=transfer(unfinished=UNFINISHED)) == waits
    assert says("Hi", WELCOME, text, tool=transfer()) == waits


def test_other_polite_refusals_are_answered_too() -> None:
    assert says("Hi", "Anything else?", "no thanks").text == "All right. I am here if you need anything."


def test_yes_to_something_else_continues_nothing() -> None:
    assert says("Hi", "Shall I tell a story?", "yes", tool=transfer(unfinished=UNFINISHED)).calls == ()


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (
            "user: I want to create a skill that sends Slack alerts",
            "User wants to create a skill that sends Slack alerts.",
        ),
        ("user: Hello\nassistant: Hi!\nuser: Please build me a new skill.", "User wants to build them a new skill."),
        ("user: I need a skill for my reports.\nIt is urgent.", "User wants a skill for their reports."),
        ("user: new skill", "User said: “new skill”"),
        ("user: Kannst du mir einen Skill erstellen?", "Der Benutzer möchte einen Skill erstellen."),
    ],
)
def test_it_sums_up_for_a_colleague_in_one_sentence(text: str, summary: str) -> None:
    messages = [ChatMessage(role="system", content=SUMMARISE), ChatMessage(role="user", content=text)]
    assert answer(Conversation.of(messages)) == Reply(summary)


def test_it_names_the_specialist_among_the_things_to_try() -> None:
    assert "create a skill" in says("What can you do?").text
    assert "create a skill" not in says("What can you do?", tool=transfer("transfer_to_echo")).text


@pytest.mark.parametrize("piece", ["skill as ", "continue ", "please ", "user: "])
def test_long_texts_are_answered_too(piece: str) -> None:
    assert says(f"I want {piece * 20_000}", tool=transfer(unfinished=UNFINISHED))
    assert says("Hi", piece * 20_000, "yes", tool=transfer(unfinished=UNFINISHED))
