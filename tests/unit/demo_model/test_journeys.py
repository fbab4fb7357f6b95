"""The four journeys with the shipped agents: Baton's turns on fakes, its own model adapter, and the demo model's API.

Each is played twice: with the prompts as they are, and with other words in every system message and description.
"""

from __future__ import annotations

from typing import Any

import pytest

from baton.threads.requests.parsing import make_continue_request
from baton_documents.chunks.chunk import Chunk
from tests.harness.handoffs import texts
from tests.harness.harness import Turn
from tests.harness.remembered import learn
from tests.unit.demo_model.demo import Demo

REQUEST = "I want to create a skill that sends Slack alerts"
STICK = "A baton is a stick, and how and why do I wave it?"
MAIN, MAKER = "Assistant", "Skill Creation Assistant"


def sources(turn: Turn) -> list[dict[str, Any]]:
    """Return the sources that the answer names."""
    ends = [event.body for event in turn.events if event.type == "TEXT_MESSAGE_END"]
    sources_of_answer: list[dict[str, Any]] = ends[-1]["metadata"]["sources"]
    return sources_of_answer


async def test_a_chat(demo: Demo) -> None:
    assert await demo.say("My name is Ada.") == [(MAIN, "Your name is Ada. I will remember it.")]
    assert await demo.say("What is my name?") == [(MAIN, "Your name is Ada.")]
    [(_, farewell)] = await demo.say("Goodbye!")
    assert farewell.startswith("Goodbye!")


async def test_research_by_several_agents_at_once(demo: Demo) -> None:
    turn = await demo.harness.say("m1", "What are the best practices for error handling in Python agents?")
    started = [event.body["name"] for event in turn.events if event.type == "SUBAGENT_STARTED"]
    assert sorted(started) == ["Knowledge", "Research"]
    [(name, answer)] = texts(turn)
    assert name == MAIN
    assert answer.startswith("Based on my research, here are the best practices for error handling in Python agents:")
    assert "1. **Structured error types**" in answer
    assert "6. **Graceful degradation**" in answer
    assert "(Knowledge)\n" in answer
    assert answer.endswith("(Research)")
    assert "Sources:" not in answer
    assert [source["id"] for source in sources(turn)] == ["knowledge", "research"]
    [(_, steps)] = await demo.say("How do I configure rate limiting for my agent?")
    assert steps.startswith("Based on my research, here are the steps to configure rate limiting for your agent:")


async def test_questions_about_baton_are_answered_from_its_documents_and_cite_them(demo: Demo) -> None:
    chunk = Chunk(0, "To deploy Baton, run make deploy: how do I do it?", ("Deploy to AWS", "Deploy"))
    paged = Chunk(0, "How do I deploy Baton? With SAM.", (), 3, 3)
    await learn(demo.harness, demo.harness.ada, "knowledge", chunk.text, title="Deploy to AWS", chunk=chunk)
    await learn(demo.harness, demo.harness.ada, "knowledge", paged.text, title="Handbook", chunk=paged)
    await learn(
        demo.harness, demo.harness.ada, "knowledge", "A baton is a stick with which Baton is not meant.", title="Sticks"
    )
    turn = await demo.harness.say("m1", "How do I deploy Baton?")
    [(name, answer)] = texts(turn)
    assert name == MAIN
    assert answer.startswith("This is what the documents say:")
    numbers = {source["title"]: source["number"] for source in sources(turn) if source["kind"] == "document"}
    assert f"“To deploy Baton, run make deploy: how do I do it?” [{numbers['Deploy to AWS']}]" in answer
    assert f"“How do I deploy Baton? With SAM.” [{numbers['Handbook']}]" in answer
    assert "Sticks" not in answer
    assert sorted(source["title"] for source in sources(turn)) == ["Deploy to AWS", "Handbook", "Knowledge"]


@pytest.mark.parametrize("question", ["Who composed the Magic Flute?", "How do I bake bread?", "Why is the sky blue?"])
async def test_an_answer_that_found_nothing_says_so_and_has_no_sources(demo: Demo, question: str) -> None:
    await learn(demo.harness, demo.harness.ada, "knowledge", STICK, title="Sticks")
    turn = await demo.harness.say("m1", question)
    [(name, answer)] = texts(turn)
    assert name == MAIN
    assert answer.startswith("I found nothing about this in the documents")
    assert sources(turn) == []


async def test_a_skill_is_made(demo: Demo) -> None:
    [(name, opening)] = await demo.say(REQUEST)
    assert name == MAKER
    assert "I'll call it “Slack Alert”" in opening
    assert await demo.state() == "GATHERING_REQUIREMENTS"
    assert "separated by commas" in (await demo.say("Post them to #ops, with the severity."))[-1][1]
    assert await demo.state() == "DEFINING_TRIGGERS"
    [(_, written)] = await demo.say("send slack alert, page the team")
    assert "Here is the SKILL.md:\n\n```markdown\n---\nname: Slack Alert\n" in written
    assert "2. Post them to #ops, with the severity.\n" in written
    [(_, changed)] = await demo.say("add: check the spelling")
    assert "5. Check the spelling\n```" in changed
    assert "5. " not in (await demo.say("remove step 5"))[-1][1]
    [(_, tried)] = await demo.say("looks good")
    assert "- The message 'Send slack alert, please' starts it by the trigger 'send slack alert'.\n" in tried
    assert "- The message 'What is the weather like today?' does not start it.\n\nDo you approve" in tried
    assert await demo.state() == "TESTING"
    assert "What should I change?" in (await demo.say("no"))[-1][1]
    assert "separated by commas" in (await demo.say("the triggers"))[-1][1]
    await demo.say("page the team")
    assert "'Page the team, please' starts it" in (await demo.say("ok"))[-1][1]
    assert await demo.say("yes") == [
        (MAKER, "Your skill is ready! Returning you to the main assistant."),
        (MAIN, "Great, your 'Slack Alert' skill is now active."),
    ]
    [(name, followed)] = await demo.say("Please page the whole team")
    assert name == MAIN
    assert followed.startswith("I am following the skill **Slack Alert**:\n\n1. Ask for the details.\n2. Post them to")


async def test_a_workflow_is_resumed_in_words_and_at_a_click(demo: Demo) -> None:
    await demo.say(REQUEST)
    await demo.say("nothing")
    [*_, (name, offered)] = await demo.say("cancel")
    assert (name, offered) == (MAIN, "Let me know if you'd like to continue creating that skill later.")
    [(name, opening)] = await demo.say("I'd like to continue your Slack Alert skill")
    assert name == MAKER
    assert opening.startswith("Let's go on with “Slack Alert”. So far I have:\n\n- description: Sends Slack alerts.")
    assert await demo.state() == "DEFINING_TRIGGERS"
    await demo.say("yes")
    await demo.say("never mind")
    [unfinished] = await demo.unfinished()
    turn = Turn([], None)
    request = make_continue_request(demo.harness.thread_id, unfinished, key="once")
    turn.finished = await demo.harness.turns.run(demo.harness.ada, request, turn.events.append, seconds=20)
    assert "Here is the SKILL.md:" in turn.text
    for text in ("looks good", "approved"):
        last = await demo.say(text)
    assert last[-1] == (MAIN, "Great, your 'Slack Alert' skill is now active.")


async def test_a_skill_is_asked_for_in_other_words(demo: Demo) -> None:
    [(name, opening)] = await demo.say("could you help me automate my weekly report as a skill?")
    assert name == MAKER
    assert "I'll call it “Weekly Report”" in opening


@pytest.mark.parametrize("reply", ["hm", "What?", "I don't know", "yes", "why?"])
async def test_what_is_no_answer_is_asked_again_and_not_kept(demo: Demo, reply: str) -> None:
    await demo.say("create skill")
    assert "What should the skill do?" in (await demo.say(reply))[-1][1]
    assert "I'll call it “Slack Alert”" not in (await demo.say("hm"))[-1][1]
    await demo.say("It should send Slack alerts")
    assert await demo.state() == "GATHERING_REQUIREMENTS"
    assert "Got it." in (await demo.say("nothing else"))[-1][1]
    assert await demo.state() == "DEFINING_TRIGGERS"


async def test_a_trigger_that_is_refused_is_reported_and_replaced(demo: Demo) -> None:
    await demo.say(REQUEST)
    await demo.say("nothing")
    [(_, reported)] = await demo.say("create skill")
    assert reported.startswith("That does not work yet: ")
    assert "'create skill'" in reported
    assert "separated by commas" in (await demo.say("the triggers"))[-1][1]
    assert "Here is the SKILL.md:" in (await demo.say("yell"))[-1][1]
