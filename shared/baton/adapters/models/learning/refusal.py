"""A refusal as rules read it: without its quotations from the request.

Endpoints quote what they refuse: names of tools and of their properties, values, texts. Users and tenants write these
words, and could otherwise decide what is learned about the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from baton.adapters.models.failures.failure import ProviderFailure
from baton.adapters.models.learning.request_form import SentFeatures
from baton.adapters.models.learning.rules import COMPLAINT, KEYWORDS, Topic

_PLACES = {
    "messages": Topic.MESSAGES,
    "input": Topic.MESSAGES,
    "contents": Topic.MESSAGES,
    "tools": Topic.TOOLS,
    "functions": Topic.TOOLS,
}
"""First steps of paths into a request that name no optional field, and their topics."""
_IN_SCHEMA = re.compile(r"schema for function|function_declarations|input_schema|tools[.\[]\d")
"""Signs that a refusal is about a schema, in which properties may have the names of fields."""
RUN = 3
"""The number of successive words that count as a quotation if a refusal and its request have them in common."""
_NAMING = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords of JSON Schema whose members have names that the author chose."""
_VOCABULARY = KEYWORDS | _NAMING | {"$id", "$ref", "description", "enum", "items", "required", "type"}
_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r"(['\"`])(.{2,200}?)\1")
_EDGE = r"['\"`()\[\]{}.,:=/]"
"""A mark beside a quoted word."""


class _Part(Enum):
    REQUEST = auto()
    SCHEMA = auto()
    NAMES = auto()
    """Its members are schemas under names that the author chose."""


_OF_THE_API = frozenset({"role", "type", "id", "tool_call_id", "call_id", "toolUseId", "include", "stream_options"})
"""Members of a request whose values are words of its API."""
_IN_REQUEST = dict.fromkeys(("parameters", "schema", "json"), _Part.SCHEMA)


@dataclass(frozen=True, slots=True)
class RequestWords:
    """All texts of a request, in lower case."""

    texts: frozenset[str] = frozenset()

    @classmethod
    def of(cls, body: Any) -> RequestWords:
        """Return the texts of a request's body that are not words of its API."""
        return cls(frozenset(_list_texts(body)))

    def remove_quotations(self, text: str) -> str:
        """Return ``text``, which is in lower case, with blanks in place of its quotations from the request."""
        for quoted in sorted(
            (words for words in self.texts if len(words) > 1 and words in text), key=len, reverse=True
        ):
            written = re.escape(quoted)
            if _WORD.fullmatch(quoted):
                before = rf"(?:(?<={_EDGE})|(?<={_EDGE} ))"
                text = re.sub(rf"{before}{written}(?!\w)|(?<!\w){written}(?= ?{_EDGE})", " ", text)
            else:
                text = re.sub(rf"(?<!\w){written}(?!\w)", " ", text)
        text = _QUOTED.sub(lambda match: " " if self._contains(match[2]) else match[0], text)
        return self._without_runs(text)

    def _contains(self, quoted: str) -> bool:
        """Return whether a quotation of several words is a part of one of the texts."""
        return len(_WORD.findall(quoted)) > 1 and any(quoted in text for text in self.texts)

    def _without_runs(self, text: str) -> str:
        """Return ``text`` with blanks in place of ``RUN`` or more successive words of the request."""
        words = list(_WORD.finditer(text))
        places: dict[tuple[str, ...], list[int]] = {}
        for index in range(len(words) - RUN + 1):
            places.setdefault(tuple(word[0] for word in words[index : index + RUN]), []).append(index)
        shared: set[tuple[str, ...]] = set()
        for own in map(_WORD.findall, self.texts):
            shared |= places.keys() & set(zip(*(own[offset:] for offset in range(RUN)), strict=False))
        for index in sorted({index for run in shared for index in places[run]}, reverse=True):
            first, last = words[index].start(), words[index + RUN - 1].end()
            text = text[:first] + " " * (last - first) + text[last:]
        return text


def _list_texts(body: Any) -> Iterable[str]:
    """Yield the texts in a request, and the names in its schemas besides the vocabulary of JSON Schema."""
    remaining: list[tuple[Any, _Part]] = [(body, _Part.REQUEST)]
    while remaining:
        value, role = remaining.pop()
        if isinstance(value, str) and not value.startswith("data:"):
            yield value.lower()
        elif isinstance(value, Mapping):
            for name, member in value.items():
                if role is _Part.REQUEST:
                    remaining += [] if name in _OF_THE_API else [(member, _IN_REQUEST.get(name, role))]
                elif role is _Part.NAMES or name not in _VOCABULARY:
                    yield str(name).lower()
                    remaining.append((member, _Part.SCHEMA))
                elif name != "type":
                    remaining.append((member, _Part.NAMES if name in _NAMING else role))
        elif isinstance(value, list | tuple):
            remaining += [(member, role) for member in value]


def measure_content(sent: SentFeatures) -> int:
    """Return the approximate number of characters in a request that ``RequestWords`` reads."""
    return sum(map(len, _list_texts(sent.body)))


@dataclass(frozen=True, slots=True)
class RefusalText:
    """A refusal in lower case, without its quotations from the request."""

    status: int | None
    code: str
    """The code and the type of the error."""
    param: str
    text: str

    @classmethod
    def of(cls, failure: ProviderFailure, words: RequestWords) -> RefusalText:
        """Return the refusal of a failure, without the ``words`` of its request."""
        code = f"{failure.code} {failure.type}".lower()
        return cls(failure.status, code, failure.param.lower(), words.remove_quotations(failure.text.lower()))

    @property
    def words(self) -> str:
        """Everything that the endpoint says."""
        return f"{self.code} {self.param} {self.text}"

    @property
    def topic(self) -> Topic | None:
        """The place of the request that ``param`` names; None without one, or if it is an optional field."""
        return _PLACES.get(self._root)

    def is_about(self, topic: Topic) -> bool:
        """Return whether the refusal may be about this place of the request."""
        return self.topic in (None, topic)

    def marks(self, name: str) -> bool:
        """Return whether ``param`` is the field ``name``, or a member of it."""
        if not self.param or self.topic is not None:
            return False
        return re.fullmatch(rf"(.*\.)?{_make_field_pattern(name)}", self.param) is not None or self._root == name

    def names(self, name: str) -> bool:
        """Return whether the refusal names a field: by ``param``, or in its text as code does."""
        if self.marks(name):
            return True
        return self.topic is None and not _IN_SCHEMA.search(self.text) and self.mentions(name)

    def mentions(self, name: str) -> bool:
        """Return whether the text has a field's name, and not just a word of English."""
        if not re.search(rf"(?<![\w.]){_make_field_pattern(name)}(?!\w)", self.text):
            return False
        is_quoted = re.search(rf"['\"`]{_make_field_pattern(name)}\W", self.text) is not None
        return is_quoted or "_" in name or COMPLAINT.search(self.words) is not None

    def refers_to(self, name: str) -> bool:
        """Return whether the refusal names a field of the messages, in its text or in ``param``."""
        return self.mentions(name) or re.search(rf"(^|\W){_make_field_pattern(name)}($|\W)", self.param) is not None

    def find_position(self, name: str) -> int:
        """Return the position at which the text names a field; -1 if ``param`` names it, the end if neither does."""
        if re.search(rf"(^|\.){_make_field_pattern(name)}($|[.\[])", self.param):
            return -1
        match = re.search(rf"(?<![\w.]){_make_field_pattern(name)}(?!\w)", self.text)
        return match.start() if match is not None else len(self.text)

    @property
    def _root(self) -> str:
        return re.split(r"[.\[]", self.param)[0]


def _make_field_pattern(name: str) -> str:
    """Return the pattern of a field's name. ``reasoning_effort`` may be ``reasoning.effort`` or ``reasoningEffort``."""
    return re.escape(name.lower()).replace("_", "[._]?")
