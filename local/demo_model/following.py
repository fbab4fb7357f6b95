"""Following a skill that matches the message: its steps one by one, as far as a few rules can."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from local.demo_model.conversation import Conversation, Result
from local.demo_model.outside_tools import arguments_for, outside_tools
from local.demo_model.reply import Call, Reply
from local.demo_model.wire import OfferedFunction
from local.demo_model.wording import short

_MATCHES = re.compile(
    r"^The message matches the skill (?P<name>.+?) \(version (?P<version>\d+), by its trigger (?P<trigger>.+?)\): .*"
    r"(?P<rest>(?:\n.+)*)",
    re.MULTILINE,
)
_STEP = re.compile(r"^\d+\. (?P<text>.+)(?:\n {3}\((?P<condition>.+)\)$)?", re.MULTILINE)
_CONDITION = re.compile(r"(?P<kind>skip|only) if\s+(?P<what>.+)", re.IGNORECASE)
_ASKS = re.compile(r"(?:ask|find out|clarify|confirm|check with)\b", re.IGNORECASE)
_ASKED_FOR = re.compile(
    _ASKS.pattern + r"(?:\s+(?:the )?(?:user|them|customer|caller)\b)?(?:\s+(?:for|about)\b)?\s*", re.IGNORECASE
)
_SMALL = re.compile(
    r"(?:an?|the|of|to|and|or|is|are|was|were|has|have|had|its?|this|that|there|users?|messages?|sa(?:ys?|id)|names?|named"
    r"|mention(?:s|ed)|gives?|given|tells?|told|contains|already|one|any|some|been|be|by|in|on|for|with|please|could|would"
    r"|you|your|can|me|my|we|our|not?|do(?:es)?|did)"
)
_SIGNS = {
    "channel": r"#\w+",
    "email": r"\S+@\S+",
    "address": r"\S+@\S+|https?://",
    "link": r"https?://",
    "url": r"https?://",
    "date": r"\d|\b(?:today|tomorrow|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b",
    "time": r"\d|\b(?:now|noon|midnight)\b",
    "day": r"\b(?:today|tomorrow|\w+day)\b",
    "number": r"\d",
    "amount": r"\d",
}
"""How a message may name something without calling it so."""
RESULT_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class _Skill:
    name: str
    trigger: str
    steps: Sequence[tuple[str, str | None]]
    """Each with its condition."""


def matched_skill(conversation: Conversation) -> Reply | None:
    """Follows the first skill that the message matches: calls the tools that its steps name, then goes through them."""
    skills = [*_skills(conversation.instructions)]
    if not skills:
        return None
    skill, text = skills[0], conversation.now.text
    doing = [step for step, condition in skill.steps if _applies(condition, text, skill)]
    wanted = {tool.name: step for step in doing for tool in _tools_of(step, conversation)}
    waiting = [name for name in wanted if name not in conversation.called]
    if waiting and not conversation.results:
        tools = outside_tools(conversation)
        return Reply("", tuple(Call(n, arguments_for(tools[n], f"{wanted[n]} {text}", text)) for n in waiting))
    lines = [_line(number, *step, conversation, skill) for number, step in enumerate(skill.steps, 1)]
    others = ", ".join(f"“{other.name}”" for other in skills[1:])
    also = f"\n\nThe message matches {others} too; ask for it by itself if you meant that." if others else ""
    return Reply(
        f"I am following the skill **{skill.name}**:\n\n"
        + "\n".join(lines)
        + "\n\nAs the offline demo model I go through "
        f"the steps and use the tools they name; a real model would do the rest as well.{also}"
    )


def _skills(instructions: str) -> Iterator[_Skill]:
    for told in _MATCHES.finditer(instructions):
        steps = [(step["text"], step["condition"]) for step in _STEP.finditer(told["rest"])]
        yield _Skill(_literal(told["name"]), _literal(told["trigger"]), steps)


def _line(number: int, step: str, condition: str | None, conversation: Conversation, skill: _Skill) -> str:
    if not _applies(condition, conversation.now.text, skill):
        return f"{number}. {step} *Left out: {condition}.*"
    for tool in _tools_of(step, conversation):
        told = next((result for result in conversation.results if result.tool == tool.name), None)
        if told is not None:
            return f"{number}. {step} {_outcome(told)}"
    if _ASKS.match(step):
        return f"{number}. {step} *{_request(step)}*"
    return f"{number}. {step}"


def _request(step: str) -> str:
    """What a step that asks for something asks of the user."""
    what = _ASKED_FOR.sub("", step.rstrip(". "), count=1)
    if to_do := re.match(r"to\s+(.+)", what, re.IGNORECASE):
        return f"Please {to_do[1]}."
    verb = "confirm" if re.match(r"confirm|check", step, re.IGNORECASE) else "tell me"
    return f"Please {verb} {what or 'more'}."


def _outcome(result: Result) -> str:
    text = short(result.text, RESULT_CHARACTERS)
    return (
        f"*`{result.tool}` did not work: {text.removeprefix('Error: ')}*"
        if text.startswith("Error: ")
        else (f"*`{result.tool}` says: {text}*")
    )


def _tools_of(step: str, conversation: Conversation) -> list[OfferedFunction]:
    """The tools that a step names."""
    return [
        tool
        for name, tool in outside_tools(conversation).items()
        if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", step, re.IGNORECASE)
    ]


def _applies(condition: str | None, text: str, skill: _Skill) -> bool:
    """Whether a step is to be done, as far as the message's words tell: what is not certain is done."""
    told = _CONDITION.match(condition or "")
    if told is None:
        return True
    holds = _holds(told["what"], text, skill)
    return not holds if told["kind"].lower() == "skip" else holds


def _holds(what: str, text: str, skill: _Skill) -> bool:
    said = _content(text)
    if re.search(r"\bdetails?\b|\beverything\b", what, re.IGNORECASE):
        return len(said - _content(skill.trigger)) >= 2
    words = _content(what)
    return bool(words) and all(
        word in said or re.search(_SIGNS.get(word, r"(?!)"), text, re.IGNORECASE) is not None for word in words
    )


def _content(text: str) -> set[str]:
    words = re.findall(r"[^\W_]+", text.lower())
    return {word.removesuffix("s") if len(word) > 3 else word for word in words if not _SMALL.fullmatch(word)}


def _literal(told: str) -> str:
    try:
        return str(ast.literal_eval(told))
    except (ValueError, SyntaxError):
        return told.strip("'\"")
