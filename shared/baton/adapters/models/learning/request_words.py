"""The words of a request, which are cut out of a refusal before it is read.

Endpoints quote what they refuse: names of tools and of their properties, values, texts. Users and tenants write these,
so that they could otherwise write what is learned about the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from baton.adapters.models.learning.request_form import SentFeatures
from baton.adapters.models.learning.rules import KEYWORDS

RUN = 3
"""Words in a row that a refusal and the request have in common by quotation, and not by chance."""
_NAMING = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords of JSON Schema whose members have names of the author."""
_VOCABULARY = KEYWORDS | _NAMING | {"$id", "$ref", "description", "enum", "items", "required", "type"}
_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r"(['\"`])(.{2,200}?)\1")
_EDGE = r"['\"`()\[\]{}.,:=/]"
"""A mark beside a word that is quoted, and not said."""


class _Place(Enum):
    REQUEST = auto()
    SCHEMA = auto()
    NAMES = auto()
    """The members have names of the author, and are schemas."""


_OF_THE_API = frozenset({"role", "type", "id", "tool_call_id", "call_id", "toolUseId", "include", "stream_options"})
"""Members of a request whose values are words of its API."""
_IN_REQUEST = dict.fromkeys(("parameters", "schema", "json"), _Place.SCHEMA)


@dataclass(frozen=True, slots=True)
class RequestWords:
    """All texts of a request, in lower case."""

    texts: frozenset[str] = frozenset()

    @classmethod
    def of(cls, body: Any) -> RequestWords:
        """Return the texts of a request's body that are no words of its API."""
        return cls(frozenset(_texts(body)))

    def cut_out_of(self, text: str) -> str:
        """Return ``text``, which is in lower case, without what it quotes of the request."""
        for quoted in sorted(
            (text_ for text_ in self.texts if len(text_) > 1 and text_ in text), key=len, reverse=True
        ):
            written = re.escape(quoted)
            if _WORD.fullmatch(quoted):
                before = rf"(?:(?<={_EDGE})|(?<={_EDGE} ))"
                text = re.sub(rf"{before}{written}(?!\w)|(?<!\w){written}(?= ?{_EDGE})", " ", text)
            else:
                text = re.sub(rf"(?<!\w){written}(?!\w)", " ", text)
        text = _QUOTED.sub(lambda match: " " if self._hold(match[2]) else match[0], text)
        return self._without_runs(text)

    def _hold(self, quoted: str) -> bool:
        """Return whether a quotation of several words is a part of a text."""
        return len(_WORD.findall(quoted)) > 1 and any(quoted in text for text in self.texts)

    def _without_runs(self, text: str) -> str:
        words = list(_WORD.finditer(text))
        places: dict[tuple[str, ...], list[int]] = {}
        for at in range(len(words) - RUN + 1):
            places.setdefault(tuple(word[0] for word in words[at : at + RUN]), []).append(at)
        shared: set[tuple[str, ...]] = set()
        for own in map(_WORD.findall, self.texts):
            shared |= places.keys() & set(zip(*(own[offset:] for offset in range(RUN)), strict=False))
        for at in sorted({at for run in shared for at in places[run]}, reverse=True):
            first, last = words[at].start(), words[at + RUN - 1].end()
            text = text[:first] + " " * (last - first) + text[last:]
        return text


def _texts(body: Any) -> Iterable[str]:
    """Yield the texts in a request, and the names in its schemas besides the vocabulary of JSON Schema."""
    remaining: list[tuple[Any, _Place]] = [(body, _Place.REQUEST)]
    while remaining:
        value, role = remaining.pop()
        if isinstance(value, str) and not value.startswith("data:"):
            yield value.lower()
        elif isinstance(value, Mapping):
            for name, member in value.items():
                if role is _Place.REQUEST:
                    remaining += [] if name in _OF_THE_API else [(member, _IN_REQUEST.get(name, role))]
                elif role is _Place.NAMES or name not in _VOCABULARY:
                    yield str(name).lower()
                    remaining.append((member, _Place.SCHEMA))
                elif name != "type":
                    remaining.append((member, _Place.NAMES if name in _NAMING else role))
        elif isinstance(value, list | tuple):
            remaining += [(member, role) for member in value]


def content_size(sent: SentFeatures) -> int:
    """Return about how many characters ``RequestWords`` looks at in a request."""
    return sum(map(len, _texts(sent.body)))
