"""What a specialist knows of its session: the workflow's note, what the user was asked, and what they say now."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from local.demo_model.conversation import Conversation
from local.demo_model.fields import Field
from local.demo_model.guide import ADVANCE, Guide, first_guide
from local.demo_model.wording import in_quotes

MAX_REPLY = 4000
"""Characters of a message that are read: patterns take long over long texts."""
WHAT_TO_CHANGE = "What should I change?"
_HANDED_OVER = re.compile(r"^The conversation was handed over to you by .*? no instruction: (.*)$", re.MULTILINE)
_TRIAL = re.compile(
    r"^The message (?P<sample>.+?) (?:starts it by the trigger (?P<trigger>.+)|does not start it)\.$", re.M
)
_MARKDOWN = re.compile(r"^The SKILL\.md:\n(---\n.*?)(?=^The message |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Session:
    """One moment of it."""

    conversation: Conversation
    guide: Guide

    @property
    def text(self) -> str:
        """The user's message, as much of it as is read."""
        return self.conversation.now.text.strip()[:MAX_REPLY]

    @property
    def summary(self) -> str:
        """What the agent that handed over has told; empty: nothing."""
        told = _HANDED_OVER.search(self.conversation.instructions)
        return str(json.loads(told[1])) if told else ""

    @cached_property
    def assistant_said(self) -> str:
        """The last thing said to the user before their message; empty at the beginning of the session."""
        return next((said.text for said in reversed(self.conversation.before) if said.role == "assistant"), "")

    @property
    def asked_so_far(self) -> str:
        """Everything said to the user before."""
        return "\n".join(said.text for said in self.conversation.before if said.role == "assistant")

    @property
    def suggestion(self) -> str:
        """What the user was last offered as an answer."""
        _, offered, suggestion = self.assistant_said.rpartition("For example")
        return suggestion if offered else ""

    @cached_property
    def asked(self) -> Field | None:
        """The field of this state that the user was asked for."""
        start = first_guide(self.conversation) or self.guide
        return next((each for each in start.fields if each.question in self.assistant_said), None)

    @property
    def asks_what_to_change(self) -> bool:
        """Whether the user was asked for what to go back to."""
        return WHAT_TO_CHANGE in self.assistant_said

    @property
    def goes_on(self) -> bool:
        """Whether there was something collected already when the user spoke."""
        start = first_guide(self.conversation)
        return start is not None and bool(start.known)

    @property
    def has_arrived(self) -> bool:
        """Whether the workflow came into its state since the user spoke."""
        start = first_guide(self.conversation)
        return start is not None and start.state != self.guide.state

    @property
    def ahead(self) -> str | None:
        """The next state to go to: the first open one that does not lie behind."""
        order = self.states
        here = order.index(self.guide.state) if self.guide.state in order else -1
        return next((way for way in self.guide.ways if way not in order or order.index(way) > here), None)

    @property
    def states(self) -> Sequence[str]:
        """The workflow's states, in their order, as the tool lists them."""
        offered = self.conversation.tools.get(ADVANCE)
        schema = (offered.parameters or {}) if offered else {}
        found: Sequence[str] = schema.get("properties", {}).get("state", {}).get("enum", ())
        return found

    @property
    def everything(self) -> Sequence[str]:
        """The names of all fields that could be changed."""
        return list(dict.fromkeys([*self.guide.schema.get("properties", {}), *self.guide.known]))

    def changeable(self) -> str:
        """The fields that the user may want to change, as words."""
        return ", ".join(name.replace("_", " ") for name in self.guide.known if name not in ("approved", "samples"))

    @property
    def markdown(self) -> str:
        """The SKILL.md that the last call has told; empty: none."""
        told = _MARKDOWN.search(self.guide.about)
        return told[1].strip() if told else ""

    def told_of_all(self) -> str:
        """Everything collected, in a line."""
        return "; ".join(f"{name.replace('_', ' ')}: {shown(value)}" for name, value in self.guide.known.items())

    @property
    def trials(self) -> str:
        """Which sample messages start the skill, as a list."""
        if not any(each.name == "samples" for each in self.guide.fields):
            return ""
        lines = [
            f"- {in_quotes(_unquoted(trial['sample']))} "
            + (f"starts it, by {in_quotes(_unquoted(trial['trigger']))}" if trial["trigger"] else "does not start it")
            for trial in _TRIAL.finditer(self.guide.about)
        ]
        return "I have tried these messages:\n\n" + "\n".join(lines) if lines else ""


def shown(value: Any) -> str:
    """A collected value as words."""
    if isinstance(value, list):
        texts = [str(each.get("text", each)) if isinstance(each, dict) else str(each) for each in value]
        has_sentences = any(re.search(r"[.!?,;]", text) for text in texts)
        return "; ".join(text.rstrip(".") for text in texts) if has_sentences else ", ".join(texts)
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def points(known: Mapping[str, Any]) -> str:
    """Collected values as a list."""
    return "\n".join(f"- {name.replace('_', ' ')}: {shown(value)}" for name, value in known.items())


def _unquoted(told: str) -> str:
    """A text as Python wrote it in quotes."""
    try:
        return str(ast.literal_eval(told))
    except (ValueError, SyntaxError):
        return told.strip("'\"")
