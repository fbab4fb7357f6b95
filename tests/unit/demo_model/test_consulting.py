"""How the demo model asks other agents and uses tools, and what it makes of what they say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from baton.agents.consult import UNANSWERED
from baton.domain.sentences import SENTENCES
from local.demo_model.conversation import Conversation
from local.demo_model.reply import Call, Reply
from local.demo_model.rules import answer
from local.demo_model.wire import CalledFunction, CalledTool, ChatMessage, OfferedFunction

BEST = "What are the best practices for error handling in Python agents?"
ABOUT = {"knowledge": "Knows established facts.", "research": "Compares alternatives.", "weather": "Knows the weather."}


def asking(*agents: str) -> list[OfferedFunction]:
    """The tools that ask agents, as Baton describes them."""
    return [
        OfferedFunction(name=f"ask_{agent}", description=f"Ask {agent.title()}: {ABOUT[agent]} Ask several at once.")
        for agent in agents
    ]


def tool(name: str, description: str = "", **properties: str) -> OfferedFunction:
    """A tool that requires arguments of these types."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in properties.items()},
        "required": list(properties),
    }
    return OfferedFunction(name=name, description=description, parameters=schema)


def asked(text: str, *tools: OfferedFunction, system: str = "You are Assistant.") -> Reply:
    """Its answer to a first message."""
    messages = [ChatMessage(role="system", content=system), ChatMessage(role="user", content=text)]
    return answer(Conversation.of(messages, {each.name: each for each in tools}))


def told(text: str, results: dict[str, str], *tools: OfferedFunction, system: str = "You are Assistant.") -> str:
    """What it says after tools have answered the calls that it made."""
    calls = [
        CalledTool(id=f"c{number}", type="function", function=CalledFunction(name=name, arguments="{}"))
        for number, name in enumerate(results)
    ]
    messages = [
        ChatMessage(role="system", content=system),
        ChatMessage(role="user", content=text),
        ChatMessage(role="assistant", tool_calls=calls),
        *(ChatMessage(role="tool", tool_call_id=f"c{n}", content=each) for n, each in enumerate(results.values())),
    ]
    reply = answer(Conversation.of(messages, {each.name: each for each in tools}))
    assert reply.calls == ()
    return reply.text


def test_it_asks_both_agents_at_once_about_best_practices() -> None:
    reply = asked(BEST, *asking("knowledge", "research", "weather"))
    assert reply.text == ""
    assert reply.calls == (Call("ask_knowledge", {"message": BEST}), Call("ask_research", {"message": BEST}))


@pytest.mark.parametrize(
    ("question", "agents"),
    [
        ("How do I configure rate limiting for my agent?", ["ask_knowledge"]),
        ("how to test an agent?", ["ask_knowledge"]),
        ("Compare queues and streams.", ["ask_knowledge", "ask_research"]),
        ("What is the difference between a queue and a stream?", ["ask_knowledge", "ask_research"]),
        ("Please research vector stores", ["ask_research"]),
        ("Ask Weather whether it will rain", ["ask_weather"]),
        ("ask the weather agent and knowledge about hail", ["ask_weather", "ask_knowledge"]),
    ],
)
def test_it_asks_whoever_fits_the_question(question: str, agents: list[str]) -> None:
    assert [call.name for call in asked(question, *asking("knowledge", "research", "weather")).calls] == agents


def test_an_agent_that_is_named_gets_the_question_alone() -> None:
    [call] = asked("Ask Weather: will it rain in Vienna?", *asking("weather")).calls
    assert call.arguments == {"message": "will it rain in Vienna?"}


@pytest.mark.parametrize("text", ["Hello!", "What is 2 + 2?", "My favourite colour is green.", "tell me a story", BEST])
def test_it_answers_by_itself_what_needs_nobody_or_has_nobody(text: str) -> None:
    tools = () if text == BEST else asking("knowledge", "research")
    reply = asked(text, *tools)
    assert reply.calls == ()
    assert reply.text


@pytest.mark.parametrize("name", ["Knowledge", "Research"])
def test_it_plays_the_agents_that_are_asked(name: str) -> None:
    reply = asked(BEST, system=f"You are {name}, an agent that another agent consults.")
    assert reply.text.startswith("On error handling in Python agents:\n\n- **")
    assert asked(BEST, system="You are Knowledge.").text != asked(BEST, system="You are Research.").text


def test_an_agent_that_can_search_searches_before_it_answers() -> None:
    search = tool("search_docs", "Search the pages.", query="string")
    reply = asked(BEST, search, system="You are Knowledge.")
    assert reply.calls == (Call("search_docs", {"query": "error handling in Python agents"}),)
    text = told(BEST, {"search_docs": "Page 7: be careful."}, search, system="You are Knowledge.")
    assert text.endswith("- **Found by search_docs**: Page 7: be careful.")


def test_an_agent_whose_search_fails_answers_all_the_same() -> None:
    text = told(BEST, {"search_docs": "Error: it is down."}, system="You are Knowledge.")
    assert text.startswith("On error handling")
    assert "down" not in text


def test_it_makes_one_attributed_answer_of_all_results() -> None:
    results = {name: asked(BEST, system=f"You are {name}.").text for name in ("Knowledge", "Research")}
    text = told(BEST, {f"ask_{name.lower()}": said for name, said in results.items()}, *asking("knowledge", "research"))
    assert text.startswith("Based on my research, here are the best practices for error handling in Python agents:")
    assert text.count("(Knowledge)") == text.count("(Research)") == 3
    assert text.endswith("Sources: Knowledge and Research.")


def test_an_agent_that_says_it_in_a_sentence_is_quoted() -> None:
    text = told("Ask Weather: rain?", {"ask_weather": "It will rain."}, *asking("weather"))
    assert text == "Based on my research, here are the main points:\n\n1. It will rain. (Weather)\n\nSources: Weather."


def test_failed_agents_are_left_out_without_apologies() -> None:
    failed = UNANSWERED.format(name="Research", reason="it took too long.")
    text = told(BEST, {"ask_knowledge": "- **Be kind**", "ask_research": failed}, *asking("knowledge", "research"))
    assert text.startswith("Based on my research, here are the best practices")
    assert text.endswith("1. **Be kind** (Knowledge)\n\nSources: Knowledge.")
    alone = told(BEST, {"ask_research": failed}, *asking("research"))
    assert alone.startswith("From what I know myself, the best practices for error handling in Python agents")
    for said in (text, alone):
        assert SENTENCES["limited_resources"] not in said
        assert "could not answer" not in said


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("use the search_docs tool for retries", [("search_docs", {"query": "retries"})]),
        ("Look up rate limits with search docs, please", [("search_docs", {"query": "rate limits"})]),
        ("Please search the documentation for timeouts.", [("search_docs", {"query": "timeouts"})]),
        ("use the add tool with 3 and -4", [("add", {"a": 3, "b": -4})]),
        ("add two numbers: a=1, b=2", [("add", {"a": 1, "b": 2})]),
        (
            "Use search_docs for cats and use the add tool for 1 and 2",
            [("search_docs", {"query": "cats"}), ("add", {"a": 1, "b": 2})],
        ),
        ("I like documentation", []),
        ("We searched for hours", []),
    ],
)
def test_it_calls_the_tools_that_are_plainly_asked_for(text: str, calls: list[tuple[str, Any]]) -> None:
    search = tool("search_docs", "Search the documentation.", query="string")
    add = tool("add", "Add two numbers.", a="integer", b="integer")
    assert [(call.name, call.arguments) for call in asked(text, search, add).calls] == calls


def test_arguments_fit_enumerations_and_every_type() -> None:
    schema = {
        "type": "object",
        "properties": {
            "unit": {"enum": ["celsius", "kelvin"]},
            "city": {"type": "string"},
            "days": {"type": "number"},
            "exact": {"type": "boolean"},
            "tags": {"type": "array"},
            "more": {"type": "object"},
            "note": {"type": "string"},
        },
        "required": ["unit", "city", "days", "exact", "tags", "more"],
    }
    offered = OfferedFunction(name="get_weather", description="Get the weather.", parameters=schema)
    [call] = asked('get_weather for 3 days in kelvin, city: "New York"', offered).calls
    assert call.arguments["unit"] == "kelvin"
    assert (call.arguments["city"], call.arguments["days"], call.arguments["exact"]) == ("New York", 3, True)
    assert (call.arguments["more"], "note" in call.arguments) == ({}, False)
    json.dumps(call.arguments)


def test_it_tells_what_tools_said_what_failed_and_what_was_refused() -> None:
    assert told("use x", {"x": "Forty-two."}) == "According to `x`:\n\nForty-two."
    assert told("use x", {"x": "Error: x did not answer in time."}) == "I could not use `x`: x did not answer in time."
    refused = "The user refused this call. Do not try it again unless they ask for it."
    assert told("use x", {"x": refused}).startswith("I have not used `x`: the user refused this call.")


@pytest.mark.parametrize("piece", ["ask ", " ,", "use the ", "please ", "search_docs , "])
def test_long_texts_are_answered_too(piece: str) -> None:
    text = f"I wrote{piece * 20_000}."
    assert asked(text, *asking("knowledge", "research"), tool("search_docs", "Search the pages.", query="string"))


def test_a_long_question_is_handed_on_whole() -> None:
    question = f"{BEST}\n{'My code follows. ' * 1000}".strip()
    assert asked(question, *asking("knowledge")).calls == (Call("ask_knowledge", {"message": question}),)


def test_what_it_can_do_names_research_only_where_there_are_agents() -> None:
    assert "best practices" in asked("What can you do?", *asking("research")).text
    assert "best practices" not in asked("What can you do?").text
