"""The demo model answers what pages propose to say and what people ask next, from what was said."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from baton_local.demo_model.sentence_encoder import SentenceEncoder
from baton_local.root import ROOT
from tests.unit.demo_model.demo import Demo
from tests.unit.demo_model.playing import ask, get_shipped_engine

TOOLS = ("ask_knowledge", "ask_research", "transfer_to_skill_creation_agent")
NEXT = {
    # on the local page
    "What can you do?": ("Who are you?", "I am the **offline demo model**"),
    "My name is Ada and I live in Vienna.": ("Where do I live?", "You live in Vienna."),
    "I want to create a skill that sends Slack alerts": ("What is a skill?", "A skill is a short list of steps"),
    "Tell me a story about whales": ("What was the story about?", "The story was about whales."),
    # in the answer to "What can you do?"
    "What are the best practices for error handling in Python agents?": (
        "What about timeouts?",
        "Based on my research, here are the main points:",
    ),
    "my name is Ada": ("What is my name?", "Your name is Ada."),
    "my favourite colour is green": ("What is my favourite colour?", "Your favourite colour is green."),
    "remember that the meeting is at noon": ("When is the meeting?", "The meeting is at noon."),
    "what did I say before?": ("What did you say?", "I said: “This is the first thing"),
    "summarize our conversation": ("What was my first message?", "The first thing you said was: “summarize our"),
    "what is 12 * (3 + 4)?": ("And divided by 2?", "84 / 2 = 42"),
    "tell me a story": ("Tell me another one", "Here is another one about a lighthouse."),
    "write 300 words about lighthouses": ("What did I just ask?", "Just before this you said: “write 300 words"),
    # in the README and in the tutorial
    "My dog is called Rufus": ("What is my dog called?", "Your dog is called Rufus."),
    "My favourite colour is green.": ("What is my favourite colour?", "Your favourite colour is green."),
    "What is 12 * (3 + 4)?": ("times 2", "84 * 2 = 168"),
    "Write 200 words about lighthouses": ("Thanks!", "You are welcome!"),
}
"""Each sentence that is proposed, its natural next question, and how that is answered."""


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    return SentenceEncoder()


def list_proposals() -> set[str]:
    """Return the proposals of the page, the demo model, the README and the tutorial."""
    page = (ROOT / "baton_local" / "page" / "index.html").read_text(encoding="utf-8")
    tutorial = (ROOT / "docs" / "tutorial" / "first-conversation.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("\n", " ")
    offered = re.findall(r"`([^`]+)`", ask(get_shipped_engine(), "What can you do?", tools=TOOLS).text)
    reported = re.findall(r'"(?:message|content)": "([^"]+)"', tutorial)
    return {
        *re.findall(r"data-try>([^<]+)<", page),
        *offered,
        *re.findall(r'(?:ask|say) "([^"]+)"', readme),
        *(text for text in reported if "..." not in text),
    }


def test_each_sentence_that_is_proposed_is_tried_here() -> None:
    asked_next = {question for question, _ in NEXT.values()}
    tried_elsewhere = {"What is a lease?", "cancel", "Something else"}
    answers = {"Your favourite colour is green.", "Your favourite colour is green. I will remember it."}
    assert list_proposals() - asked_next - tried_elsewhere - answers <= NEXT.keys()
    assert NEXT.keys() <= list_proposals()


@pytest.mark.parametrize(("message", "question", "answer"), [(message, *rest) for message, rest in NEXT.items()])
async def test_the_next_question_is_answered(demo: Demo, message: str, question: str, answer: str) -> None:
    assert "have no rule" not in await demo.answer(message)
    assert (await demo.answer(question)).startswith(answer)


@pytest.mark.parametrize(
    ("message", "question", "answer"),
    [
        ("My name is Ada and I live in Vienna.", "Where do I live?", "“I live in Vienna.”"),
        ("My name is Ada and I live in Vienna.", "What is my name?", "“My name is Ada.”"),
        ("My dog is called Rufus", "What is my dog called?", "“My dog is called Rufus”"),
        ("my favourite colour is green", "What is my favourite colour?", "“my favourite colour is green”"),
        ("I'm Jo, I work as a nurse and I have a cat named Tom.", "What is my job?", "“I work as a nurse.”"),
        ("I'm Jo, I work as a nurse and I have a cat named Tom.", "What's my cat's name?", "“I have a cat named Tom.”"),
    ],
)
async def test_a_new_conversation_remembers_it(
    demo: Demo, encoder: SentenceEncoder, message: str, question: str, answer: str
) -> None:
    await demo.remember_by_meaning(encoder, question)
    await demo.say(message)
    await demo.begin_another()
    reported = await demo.answer(question)
    assert answer in reported
    assert re.match(r"On \d{4}-\d\d-\d\d you told me: |From our conversation of ", reported)
    assert "\n" not in reported


async def test_a_new_conversation_knows_what_has_changed_since(demo: Demo, encoder: SentenceEncoder) -> None:
    await demo.remember_by_meaning(encoder, "I moved to Graz.", "Where do I live?", "What is my name?")
    await demo.say("My name is Ada and I live in Vienna.")
    await demo.begin_another()
    demo.harness.clock.advance(timedelta(days=1).total_seconds())
    await demo.say("I moved to Graz.")
    await demo.begin_another()
    assert "“I moved to Graz.”" in await demo.answer("Where do I live?")
    assert "“My name is Ada.”" in await demo.answer("What is my name?")


async def test_a_question_during_a_skill_is_answered_and_not_kept(demo: Demo) -> None:
    await demo.say("I want to create a skill that sends Slack alerts")
    reported = await demo.answer("What do you need to know?")
    assert "What should its result look like?" in reported
    assert await demo.state() == "GATHERING_REQUIREMENTS"
    assert "Here is the SKILL.md" not in await demo.answer("Post them to #ops")
    assert await demo.state() == "DEFINING_TRIGGERS"
