"""Where a guided workflow stands, read from what Baton tells the model of it and from nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from local.demo_model.conversation import Conversation, Result
from local.demo_model.fields import Field

ADVANCE = "advance_workflow"
RETURN = "return_to_main"
_NOTE = re.compile(r"^Workflow: .*(?:\n.+)*(?:\n+\[Shortened: .*)?", re.MULTILINE)
_CUT = "... (cut)"
"""What stands behind collected data of which Baton tells only the beginning."""
_LINES = frozenset(
    [
        "State",
        "What to do here",
        "Data of this state, as JSON Schema",
        "Collected in this state",
        "Collected in other states",
        "Still missing",
        "Possible next states",
    ]
)
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[{}\[\],]', re.DOTALL)
_HEAD = re.compile(r"Workflow: (?P<name>.+?)\. The user is shown: (?P<step>Step \d+ of \d+): (?P<label>.+)\.$")


@dataclass(frozen=True)
class Guide:
    """A workflow's note, read."""

    workflow: str
    label: str
    """What the user sees of the state."""
    state: str
    instructions: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    collected: Mapping[str, Any] = field(default_factory=dict)
    others: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What other states have collected."""
    missing: tuple[str, ...] = ()
    ways: tuple[str, ...] = ()
    """The states it may go to now."""
    is_final: bool = False
    is_cut: bool = False
    """Whether the note was shortened on its way, or the newest one is lost: what it does not say may be so."""
    about: str = ""
    """What stood before the note in a call's result."""

    @property
    def is_of_skill(self) -> bool:
        """Whether the workflow makes a skill."""
        return re.search(r"\bskill\b", self.workflow, re.IGNORECASE) is not None

    @property
    def fields(self) -> Sequence[Field]:
        """What the state collects, in the order in which it is asked for."""
        required = self.schema.get("required", ())
        found = [
            Field(name, schema, name in required, self.is_of_skill)
            for name, schema in self.schema.get("properties", {}).items()
            if isinstance(schema, dict)
        ]
        # What a skill does comes first: its name follows from that.
        return sorted(found, key=lambda each: self.is_of_skill and each.name != "description")

    @property
    def known(self) -> Mapping[str, Any]:
        """Everything collected, by field."""
        return {name: value for fields in (*self.others.values(), self.collected) for name, value in fields.items()}

    def home_of(self, name: str) -> str | None:
        """The state that collects a field, as far as it is known."""
        if name in self.schema.get("properties", {}):
            return self.state
        return next((state for state, fields in self.others.items() if name in fields), None)


def guide_of(conversation: Conversation) -> Guide | None:
    """Where the workflow stands now: as the last call has told, else as the turn began."""
    told = [result.text for result in moves(conversation)]
    newest = told[-1] if told else conversation.instructions
    for text in (*reversed(told), conversation.instructions):
        notes = [*_NOTE.finditer(text)]
        if notes and (guide := _read(notes[-1][0])):
            about = text[: notes[-1].start()].strip() if text in told else ""
            is_cut = guide.is_cut or text is not newest
            return replace(guide, about=about, is_cut=is_cut, is_final=guide.is_final and not is_cut)
    return None


def first_guide(conversation: Conversation) -> Guide | None:
    """Where it stood when the user spoke."""
    notes = _NOTE.findall(conversation.instructions)
    return _read(notes[-1]) if notes else None


def moves(conversation: Conversation) -> Sequence[Result]:
    """The workflow's calls since the user spoke that were not refused."""
    return [each for each in conversation.results if each.tool == ADVANCE and not each.text.startswith("Error: ")]


def _read(note: str) -> Guide | None:
    first, *lines = note.split("\n")
    head = _HEAD.match(first)
    told = {name: value for name, _, value in (line.partition(": ") for line in lines)}
    if head is None or "State" not in told:
        return None
    ways = told.get("Possible next states")
    is_cut = not told.keys() <= _LINES
    return Guide(
        workflow=head["name"],
        label=head["label"],
        state=told["State"],
        instructions=told.get("What to do here", ""),
        schema=_json(told.get("Data of this state, as JSON Schema")),
        collected=_json(told.get("Collected in this state")),
        others=_json(told.get("Collected in other states")),
        missing=_listed(told.get("Still missing")),
        ways=() if ways == "none yet" else _listed(ways),
        is_final=ways is None and not is_cut,
        is_cut=is_cut,
    )


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(text.split(", ")) if text else ()


def _json(text: str | None) -> dict[str, Any]:
    text = text or "{}"
    try:
        value = json.loads(_whole(text.removesuffix(_CUT)) if text.endswith(_CUT) else text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _whole(text: str) -> str:
    """JSON that was cut, as far as its values are complete, closed again."""
    whole, closing = "{}", list[str]()
    for place in _STRUCTURE.finditer(text):
        mark = place[0]
        if mark in "{[":
            closing.append("}" if mark == "{" else "]")
        elif mark in "}]":
            del closing[-1:]
        elif mark == ",":
            whole = text[: place.start()] + "".join(reversed(closing))
    return whole
