"""Consulting other agents and using tools: asking at once whoever fits, then answering once, in one voice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from local.demo_model.advice import KNOWLEDGE, RESEARCH, points_about
from local.demo_model.conversation import Conversation, Result
from local.demo_model.handing_over import TRANSFER
from local.demo_model.outside_tools import MAX_WISH, arguments_for, search_tool
from local.demo_model.reply import Call, Reply
from local.demo_model.wire import OfferedFunction
from local.demo_model.wording import short, topic

ASK = "ask_"
MAX_QUOTE = 600
_NOT_DONE = re.compile(r"The user (?:refused|stopped) this|Nobody approved|This call was not carried out")
_POINT = re.compile(r"^\s*(?:[-*]|\d+[.)])\s+(.+)$", re.MULTILINE)
_PLAYED = re.compile(rf"\bYou are (?:the )?({KNOWLEDGE}|{RESEARCH})\b")


@dataclass(frozen=True, slots=True)
class _Wish:
    """A kind of question that others are asked about."""

    pattern: str
    """Its group is what the question is about."""
    agents: tuple[str, ...]
    heading: str


_WISHES = (
    _Wish(
        r"\bbest practices?\b(?:\s+(?:for|in|of|on|when|with|about))?\s*(.*)",
        (KNOWLEDGE, RESEARCH),
        "the best practices for",
    ),
    _Wish(
        r"\b(?:compare|pros and cons of|(?:difference|trade-?offs?) between)\s+(.*)",
        (KNOWLEDGE, RESEARCH),
        "the main points on",
    ),
    _Wish(
        r"^\s*(?:please\s+)?(?:(?:can|could|would) you\s+)?(?:please\s+)?(?:research|investigate|look into)\s+(.*)",
        (RESEARCH,),
        "the main findings on",
    ),
    _Wish(r"\bhow (?:(?:do|can|should|would|could) (?:i|we|one)|to)\s+(.*)", (KNOWLEDGE,), "the steps to"),
)


def asked_agent(conversation: Conversation) -> Reply | None:
    """Plays an agent that is consulted: looks it up where there is a tool for that, then answers in points."""
    played = _PLAYED.search(conversation.instructions)
    if played is None or offered_agents(conversation):
        return None
    question = conversation.now.text
    _, about = _understood(question)
    if not conversation.results and (tool := search_tool(conversation)):
        return Reply("", (Call(tool.name, arguments_for(tool, question, about)),))
    points = list(points_about(question, played[1], about))
    found = [result for result in conversation.results if not _is_failure(result) and result.text]
    points += [f"**Found by {result.tool}**: {short(result.text, MAX_QUOTE)}" for result in found]
    return Reply(f"On {about}:\n\n" + "\n".join(f"- {point}" for point in points))


def offered_agents(conversation: Conversation) -> dict[str, OfferedFunction]:
    """The tools that ask other agents, by the agents' names."""
    return {_name_of(tool): tool for name, tool in conversation.tools.items() if name.startswith(ASK)}


def consult(conversation: Conversation) -> Reply | None:
    """Asks the agents that the message names, else those that fit its kind of question; all at once."""
    agents = offered_agents(conversation)
    if conversation.results or not agents:
        return None
    text = conversation.now.text
    named, question = _named(text, agents)
    if not named:
        wish, _ = _understood(text)
        named, question = [name for name in (wish.agents if wish else ()) if name in agents], text
        if wish and not named:
            named = [name for name, tool in agents.items() if _shares_a_word(text, tool)]
    if not named:
        return None
    return Reply("", tuple(Call(agents[name].name, {"message": question}) for name in named))


def answer_from_results(conversation: Conversation) -> Reply | None:
    """One answer from everything that agents and tools have told; what failed is left out or named."""
    own = (TRANSFER, "end_conversation", "return_to_main", "advance_workflow")
    results = [result for result in conversation.results if not result.tool.startswith(own)]
    if not results:
        return None
    question = conversation.now.text
    asked = [result for result in results if result.tool.startswith(ASK)]
    parts = [_researched(question, asked, conversation)] if asked else []
    parts += [_told(result) for result in results if not result.tool.startswith(ASK)]
    return Reply("\n\n".join(parts))


def _researched(question: str, asked: Sequence[Result], conversation: Conversation) -> str:
    names = {tool.name: name for name, tool in offered_agents(conversation).items()}
    answers = [(names.get(r.tool) or _title(r.tool), r.text) for r in asked if not _is_failure(r)]
    wish, about = _understood(question)
    heading = f"{wish.heading} {about}" if wish else "the main points"
    if not answers:
        points = [*points_about(question, KNOWLEDGE, about), *points_about(question, RESEARCH, about)]
        return f"From what I know myself, {heading} come down to this:\n\n" + _numbered(points)
    points = [f"{point} ({name})" for name, text in answers for point in _points(text)]
    sources = " and ".join(dict.fromkeys(name for name, _ in answers))
    return f"Based on my research, here are {heading}:\n\n{_numbered(points)}\n\nSources: {sources}."


def _told(result: Result) -> str:
    tool = f"`{result.tool}`"
    if _NOT_DONE.match(result.text):
        return f"I have not used {tool}: {result.text[0].lower()}{result.text[1:]}"
    if _is_failure(result):
        return f"I could not use {tool}: {result.text.removeprefix('Error: ')}"
    return f"According to {tool}:\n\n{result.text[: MAX_QUOTE * 4]}"


def _is_failure(result: Result) -> bool:
    return result.text.startswith("Error: ") or _NOT_DONE.match(result.text) is not None


def _points(text: str) -> list[str]:
    """The points of an agent's answer; one that has none is a point as a whole."""
    return [point.strip() for point in _POINT.findall(text)] or [short(text, MAX_QUOTE)]


def _numbered(points: Sequence[str]) -> str:
    return "\n".join(f"{number}. {point}" for number, point in enumerate(dict.fromkeys(points), 1))


def _understood(question: str) -> tuple[_Wish | None, str]:
    """The kind of a question, and what it is about."""
    question = question[:MAX_WISH]
    for wish in _WISHES:
        if asked := re.search(wish.pattern, question, re.IGNORECASE):
            return wish, topic(asked[1]) if asked[1].strip(" .?!") else "this"
    return None, topic(question)


def _named(text: str, agents: dict[str, OfferedFunction]) -> tuple[list[str], str]:
    """The agents that the message says to ask, and what to ask them."""
    found: list[tuple[int, str]] = []
    for name in agents:
        pattern = rf"\b(?:ask|consult)\b[^.?!:;]*?\b({re.escape(name)})\b"
        mention = re.search(pattern, text[:MAX_WISH], re.IGNORECASE)
        if mention:
            found.append((mention.end(1), name))
    if not found:
        return [], text
    rest = text[max(end for end, _ in found) :]
    rest = re.sub(r"^(?:\s*(?:agents?\b|about\b|whether\b|to\b|for\b|[:,]))*\s*", "", rest, flags=re.IGNORECASE)
    return [name for _, name in sorted(found)], rest or text


def _shares_a_word(text: str, tool: OfferedFunction) -> bool:
    said = set(re.findall(r"\w{5,}", text.lower()))
    return bool(said & set(re.findall(r"\w{5,}", (tool.description or "").lower())))


def _name_of(tool: OfferedFunction) -> str:
    """The agent's name, as Baton's description of the tool begins with it."""
    told = re.match(r"Ask ([^:]{1,80}):", tool.description or "")
    return told[1] if told else _title(tool.name)


def _title(tool: str) -> str:
    return tool.removeprefix(ASK).replace("_", " ").title()
