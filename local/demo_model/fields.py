"""The fields that a workflow's state collects: how they are asked for, and how answers are read into them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local.demo_model.agreement import is_no, is_vague, is_yes

_OF_SKILLS = {
    "name": "What should the skill be called?",
    "description": "What should the skill do? A sentence or two will do.",
    "requirements": (
        "1. What does it need to know, and which sources or tools does it use?\n2. What should its result look like?"
    ),
    "triggers": "Which messages should start it? Give me phrases, separated by commas.",
    "steps": "Shall we go on and test it, or should I change a step?",
    "samples": "Which messages shall we try it with? Write one a line.",
    "approved": (
        "Do you approve the skill as it is? If not, tell me what to change: its name, description, triggers or steps."
    ),
}
_LONG_ITEMS = 500
"""Characters an item may have that is a sentence rather than a phrase."""
_LEAD = re.compile(
    r"^(?:(?:well|ok(?:ay)?|yes|yeah|sure|so|hm+|please|let'?s|maybe|ja)[\s,:]+)*"
    r"(?:(?:it|that)(?:'s| is| should be| shall be| will be)\s+|(?:please\s+)?(?:call|name) it\s+|let'?s call it\s+"
    r"|how about\s+|i(?:'d| would) (?:say|like|prefer|call it)\s+|(?:use|take)\s+)?",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"[\s,;(\[-]*\b((?:skip|only)\s+if\b[^)\]]*)[)\]]?\s*[.]?\s*$", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_QUOTED = re.compile(r"[“\"„]([^“”\"„]+)[”\"“]|(?<!\w)'([^']+)'(?!\w)|`([^`]+)`")


@dataclass(frozen=True)
class Field:
    """One field of a state's data."""

    name: str
    schema: Mapping[str, Any]
    is_required: bool
    is_of_skill: bool = False

    @property
    def label(self) -> str:
        """Its name as words."""
        return self.name.replace("_", " ").replace("-", " ")

    @property
    def kind(self) -> str:
        """Its JSON type; ``steps`` for a list of things to do."""
        kind = self.schema.get("type")
        kind = kind if isinstance(kind, str) else next((each for each in kind or () if each != "null"), "string")
        return "steps" if kind == "array" and "text" in self._items.get("properties", {}) else kind

    @property
    def question(self) -> str:
        """What the user is asked for it; always the same, so that the next reply can be read as its answer."""
        if self.is_of_skill and self.name in _OF_SKILLS:
            return _OF_SKILLS[self.name]
        about = f" ({self.schema['description'].rstrip('.')}.)" if self.schema.get("description") else ""
        optional = "" if self.is_required else " Say “none” to leave it out."
        return f"{self._asks()}{about}{optional}"

    def _asks(self) -> str:
        options = self.schema.get("enum") or self._items.get("enum")
        if options:
            return f"Which {self.label}: {_either([str(option) for option in options])}?"
        match self.kind:
            case "boolean":
                return f"Yes or no: {self.label}?"
            case "steps":
                return f"What are the {self.label}? One a line, with “(skip if ...)” where one does not always apply."
            case "array":
                return f"What are the {self.label}? Separate them by commas, or write one a line."
            case "integer" | "number":
                many = f"How many {self.label}" if self._is_plural else f"What is the {self.label}"
                return f"{many}, as a number?"
            case "object":
                inner = ", ".join(self.schema.get("properties", {})) or "its parts"
                return f"{self._what} Write each part as `name: value` ({inner})."
        return self._what

    @property
    def _what(self) -> str:
        return f"What {'are' if self._is_plural else 'is'} the {self.label}?"

    @property
    def _is_plural(self) -> bool:
        return re.search(r"(?<![su'i])s$", self.label, re.IGNORECASE) is not None

    def read(self, text: str) -> Any:
        """The value in the user's reply; None if it is no answer."""
        text = text.strip()
        match self.kind:
            case "boolean":
                return True if is_yes(text) else False if is_no(text) else None
            case "integer" | "number" as kind:
                found = re.search(r"-?\d+(?:[.,]\d+)?", text)
                value = float(found[0].replace(",", ".")) if found else None
                return value if value is None or kind == "number" else int(value)
        if is_vague(text) or is_yes(text) or is_no(text):
            return None
        match self.kind:
            case "steps":
                return [_step(line) for line in _lines(text)] or None
            case "array":
                return self._list(text)
            case "object":
                return _parts(text) or None
        return self._text(text)

    def _text(self, text: str) -> str | None:
        if options := self.schema.get("enum"):
            chosen: str | None = _chosen(options, text)
            return chosen
        if text.endswith("?") and not _QUOTED.search(text):
            return None
        quoted = [next(filter(None, each)) for each in _QUOTED.findall(text)]
        value = quoted[0] if len(quoted) == 1 else _LEAD.sub("", text, count=1).strip()
        if not self.is_sentence:
            value = value.rstrip(".!").strip()
        return value if value and len(value) <= self.schema.get("maxLength", len(value)) else None

    def _list(self, text: str) -> list[Any] | None:
        if options := self._items.get("enum"):
            return [option for option in options if _chosen([option], text)] or None
        quoted = [next(filter(None, each)) for each in _QUOTED.findall(text)]
        if quoted and not self.is_sentence:
            found = quoted
        elif len(lines := _lines(text)) > 1:
            found = lines
        elif text.endswith("?") and self.name != "samples":
            return None
        elif self.is_sentence:
            found = re.split(r"(?<=[.!?])\s+", text)
        else:
            found = re.split(r"\s*[,;]\s*(?:(?:and|or|und|oder)\s+)?", _LEAD.sub("", text, count=1).rstrip("."))
        values = list(dict.fromkeys(each.strip().rstrip(",;") for each in found if each.strip(" .,;")))
        longest = self._items.get("maxLength")
        if longest is not None and any(len(value) > longest for value in values):
            return None
        return values[: self.schema.get("maxItems", len(values))] or None

    @property
    def is_sentence(self) -> bool:
        """Whether its texts are sentences, not names or phrases."""
        schema = self._items if self.kind == "array" else self.schema
        return bool(schema.get("maxLength", 0) >= _LONG_ITEMS)

    @property
    def _items(self) -> Mapping[str, Any]:
        items = self.schema.get("items")
        return items if isinstance(items, dict) else {}


def quoted(text: str) -> list[str]:
    """What stands in quotation marks."""
    return [next(filter(None, each)).strip() for each in _QUOTED.findall(text)]


def _lines(text: str) -> list[str]:
    return [line for line in (_BULLET.sub("", line).strip() for line in text.splitlines()) if line]


def _step(line: str) -> dict[str, str]:
    """A step, and its condition if it ends with one."""
    condition = _CONDITION.search(line)
    if condition is None or condition.start() == 0:
        return {"text": f"{line[0].upper()}{line[1:]}"}
    return {"text": _step(line[: condition.start()].strip())["text"], "condition": condition[1].strip()}


def _parts(text: str) -> dict[str, str]:
    pairs = re.findall(r"(?:^|[\n,;])\s*([\w-]+)\s*[:=]\s*([^\n,;]+)", text)
    return {name: value.strip() for name, value in pairs}


def _chosen(options: Sequence[Any], text: str) -> Any:
    said = text.casefold()
    return next((o for o in options if re.search(rf"(?<!\w){re.escape(str(o).casefold())}(?!\w)", said)), None)


def _either(options: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(options[:-1]), options[-1]]))
