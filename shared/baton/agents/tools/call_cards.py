"""Cards of calls, for people who approve them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, time
from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.approval_question import fill_question
from baton.domain.agents.sentences import write_sentence
from baton.domain.locale_formats import LocaleFormat, find_format
from baton.domain.runs.call_card import CallCard, CardField
from baton.domain.runs.tool_call import ToolCall
from baton.domain.schemas.argument_schema import ArgumentSchema
from baton.domain.schemas.schema_form import has_format
from baton.domain.text import make_readable
from baton.domain.times import convert_to_zone
from baton.ports.agents.tools import Tool

MAX_VALUE_IN_TEXT = 100
"""Characters of a value in a question. The fields of the card show longer values completely."""
MAX_LABEL = 80
"""Characters of the label of a field."""
MAX_VALUE = 2_000
"""Characters of a value among the fields."""
MAX_FIELDS = 60
"""Fields of a card."""
MAX_CHARACTERS = 6_000
"""Characters of a card's fields."""
MAX_CHARACTERS_TOGETHER = 24_000
"""Characters of the fields of all cards of an answer. They are stored in one item."""
MAX_DEPTH = 4
"""Levels of nested objects that are shown as separate fields."""
NOTHING = "\u2013"
"""An en dash, which is shown for an empty value."""
HIDDEN = "\u2022\u2022\u2022\u2022"
"""Bullets, which are shown for a secret value."""
MORE = "\u2026"
"""An ellipsis, which is shown for text and fields that are left out."""


def make_card(
    call: ToolCall, tool: Tool, agent: AgentDefinition, time_zone: str | None, others: Collection[CallCard] = ()
) -> CallCard:
    """Return the card of a call: its question, and fields with its arguments.

    Values are formatted for the agent's default locale, like its sentences, and times are in the user's ``time_zone``.
    ``others`` are the other cards of the same answer, which share the room for fields.

    The arguments need not be a JSON object, and the schema may come from outside and be invalid. No error is raised.
    """
    label = tool.label or call.name
    arguments = call.parse_arguments() or {}
    schema = ArgumentSchema(tool.spec.parameters)
    writer = _Writer(schema, find_format(agent.default_locale), time_zone)
    complete_paths: set[str] = set()
    """Paths of arguments that the question shows completely."""

    def show_value(path: str) -> str | None:
        text = writer.format_at(path, arguments)
        if text is None:
            return None
        line = re.sub(r"[ \n]+", " ", text).strip()
        if line == text and len(line) <= MAX_VALUE_IN_TEXT:
            complete_paths.add(path)
        return isolate(cut(line, MAX_VALUE_IN_TEXT))

    question = fill_question(tool.asks, show_value) if tool.asks else None
    text = question or write_sentence(agent, "approval_needed", tool=label)
    room = min(MAX_CHARACTERS, MAX_CHARACTERS_TOGETHER - sum(card.size for card in others))
    fields = _mark_shown(
        _limit_fields(writer.yield_fields(arguments), room), complete_paths if question is not None else set()
    )
    return CallCard(label, text, tuple(fields))


def format_value_at(
    path: str, values: Mapping[str, Any], schema: Mapping[str, Any], locale: str, time_zone: str | None
) -> str | None:
    """Return the value at a path, formatted as on a card; None without a value, or for an object with fields."""
    text = _Writer(ArgumentSchema(schema), find_format(locale), time_zone).format_at(path, values)
    return cut(text, MAX_VALUE) if text is not None else None


def format_result(path: str, result: str, locale: str, time_zone: str | None) -> str | None:
    """Return a tool's result as text. If the result is JSON, ``path`` may name a value in it: ``result.number``.

    Return None if there is no such value, or if it is an object, which does not fit in a sentence.
    """
    name, _, inner = path.partition(".")
    value: Any = result
    if result.lstrip()[:1] in ("{", "[", '"'):
        try:
            value = json.loads(result)
        except (ValueError, RecursionError):
            return None if inner or result.lstrip()[:1] == "{" else result
    if isinstance(value, str):
        return value if not inner else None
    return format_value_at(path, {name: value}, {}, locale, time_zone)


def cut(text: str, length: int) -> str:
    """Return the text, cut to at most ``length`` characters. A cut text ends with an ellipsis."""
    return text if len(text) <= length else f"{text[: length - 1]}{MORE}"


def isolate(text: str) -> str:
    """Return the text, in Unicode isolates if it would change the direction of the text around it."""
    return text if text.isascii() or not _is_right_to_left(text) else f"\u2068{text}\u2069"


def _is_right_to_left(text: str) -> bool:
    import unicodedata

    return any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in text)


def _limit_fields(fields: Iterator[CardField], room: int) -> Iterator[CardField]:
    """Yield fields up to ``MAX_FIELDS`` and ``room`` characters, then one ellipsis field in place of the others."""
    characters = 0
    for number, field in enumerate(fields):
        characters += field.size
        if number >= MAX_FIELDS or characters > room:
            yield CardField(MORE, MORE, MORE)
            return
        yield field


def _mark_shown(fields: Iterator[CardField], complete_paths: set[str]) -> list[CardField]:
    """Mark fields that the question shows completely, and headings all of whose fields it shows."""
    all_fields = list(fields)
    # Names in objects without a schema may contain dots, so that two fields have the same path.
    counts = Counter(field.name for field in all_fields)
    marked_fields = [
        replace(field, in_text=field.name in complete_paths and counts[field.name] == 1) for field in all_fields
    ]
    for index in reversed(range(len(marked_fields))):
        if marked_fields[index].text:
            continue
        inner = []
        for field in marked_fields[index + 1 :]:
            if field.depth <= marked_fields[index].depth:
                break
            inner.append(field)
        if inner and all(field.in_text for field in inner):
            marked_fields[index] = replace(marked_fields[index], in_text=True)
    return marked_fields


@dataclass(frozen=True, slots=True)
class _Writer:
    """A formatter of values for people."""

    schema: ArgumentSchema
    forms: LocaleFormat
    time_zone: str | None

    def format_at(self, path: str, arguments: Mapping[str, Any]) -> str | None:
        """Return the value at a path, or its default, as text; None for an empty value or an object with fields."""
        part: object = self.schema.root
        value: Any = arguments
        around: Mapping[str, Any] = {}
        for name in path.split("."):
            part = self.schema.find_properties(part, value).get(name, {})
            around = value if isinstance(value, Mapping) else {}
            value = around.get(name, self.schema.describe(part).get("default"))
        if value is None or value == "":
            return None
        return self.format_value(part, value, around)

    def yield_fields(self, values: Mapping[str, Any]) -> Iterator[CardField]:
        """Yield the fields of a call's arguments."""
        yield from self._yield_inner(self.schema.root, values, "", 0)

    def _yield_inner(
        self, part: object, values: Mapping[str, Any] | list[Any], path: str, depth: int
    ) -> Iterator[CardField]:
        """Yield the fields of the items of a list, or of the values of an object: those with a schema first."""
        part_schema = self.schema.describe(part, values)
        if isinstance(values, list):
            items = part_schema.get("items", {})
            for number, value in enumerate(values, 1):
                yield from self._yield_fields(f"{path}{number}", str(number), items, value, {}, depth)
            return
        properties = self.schema.find_properties(part, values)
        other_schema = part_schema.get("additionalProperties", {})
        for name in [
            *(name for name in properties if name in values),
            *(name for name in values if name not in properties),
        ]:
            inner = properties.get(name, other_schema)
            if values[name] is None and self.schema.describe(inner).get("default", ...) is None:
                continue  # the same as a missing argument
            label = cut(make_readable(self.schema.choose_label(name, inner)).replace("\n", " "), MAX_LABEL)
            yield from self._yield_fields(f"{path}{name}", label, inner, values[name], values, depth)

    def _yield_fields(
        self, path: str, label: str, part: object, value: Any, around: Mapping[str, Any], depth: int
    ) -> Iterator[CardField]:
        """Yield the field of a value, or a heading and the fields of an object up to ``MAX_DEPTH``."""
        name = cut(make_readable(path), MAX_LABEL)
        text = self.format_value(part, value, around)
        if text is None and depth < MAX_DEPTH:
            yield CardField(name, label, "", depth)
            yield from self._yield_inner(part, value, f"{path}.", depth + 1)
        else:
            yield CardField(name, label, cut(text if text is not None else MORE, MAX_VALUE), depth)

    def format_value(self, part: object, value: Any, around: Mapping[str, Any]) -> str | None:
        """Return a value as text; None for objects with fields, and for lists with objects or lists.

        ``around`` is the object that contains the value, and may contain its currency.
        """
        part_schema = self.schema.describe(part, value)
        if part_schema.get("writeOnly") is True or part_schema.get("format") == "password":
            return HIDDEN
        if isinstance(value, Mapping):
            return None if value else NOTHING
        if isinstance(value, list):
            if any(isinstance(item, Mapping | list) for item in value):
                return None
            items = [
                self.format_value(part_schema.get("items", {}), item, around) or "" for item in value[: MAX_VALUE // 2]
            ]
            more = [MORE] if len(value) > len(items) else []
            return (("; " if any("," in item for item in items) else ", ").join([*items, *more])) or NOTHING
        return self._format_scalar(part, part_schema, value, around)

    def _format_scalar(self, part: object, described: Mapping[str, Any], value: Any, around: Mapping[str, Any]) -> str:
        if value is None or value == "":
            return NOTHING
        if (choice := self.schema.find_choice_name(part, value)) is not None:
            return make_readable(choice)
        if isinstance(value, bool):
            return self.forms.yes if value else self.forms.no
        if (money := self._format_money(described, value, around)) is not None:
            return money
        if isinstance(value, int | float):
            unit = described.get("x-unit")
            return self.forms.format_number(value) + (
                f"\u00a0{make_readable(unit)}" if isinstance(unit, str) and unit else ""
            )
        return self._format_moment(described.get("format"), value) or make_readable(value[: MAX_VALUE + 1])

    def _format_money(self, described: Mapping[str, Any], value: Any, around: Mapping[str, Any]) -> str | None:
        kind, currency = described.get("format"), described.get("x-currency")
        if kind not in ("money", "money-minor") or not isinstance(currency, str):
            return None
        code = around.get(currency, currency)
        if not isinstance(code, str) or not (len(code) == 3 and code.isascii() and code.isalpha()):
            return None
        return self.forms.format_amount(value, code.upper(), is_minor=kind == "money-minor")

    def _format_moment(self, kind: object, value: str) -> str | None:
        """Return a date or a time as text; None if ``kind`` or ``value`` is neither."""
        if kind == "date" and has_format(value, "date"):
            return self.forms.format_day(datetime.fromisoformat(value).date())
        try:
            if kind == "time":
                at = time.fromisoformat(value)
                return self.forms.format_clock(at) + (f" {at.tzname()}" if at.tzinfo is not None else "")
            if kind == "date-time":
                moment = datetime.fromisoformat(value)
                if moment.tzinfo is not None and self.time_zone is not None:
                    moment = convert_to_zone(self.time_zone, moment)
                zone = f" {moment.tzname()}" if moment.tzinfo is not None and self.time_zone is None else ""
                return f"{self.forms.format_day(moment.date())}, {self.forms.format_clock(moment)}{zone}"
        except (ValueError, OverflowError):
            pass
        return None
