"""A refusal as rules read it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from baton.adapters.models.learning.failure import ProviderFailure
from baton.adapters.models.learning.request_words import RequestWords
from baton.adapters.models.learning.rules import COMPLAINT, Topic

_PLACES = {
    "messages": Topic.MESSAGES,
    "input": Topic.MESSAGES,
    "contents": Topic.MESSAGES,
    "tools": Topic.TOOLS,
    "functions": Topic.TOOLS,
}
"""Roots of places in a request that are not optional fields."""
_IN_SCHEMA = re.compile(r"schema for function|function_declarations|input_schema|tools[.\[]\d")
"""A refusal is about a schema, in which properties may have the names of fields."""


@dataclass(frozen=True, slots=True)
class RefusalText:
    """A refusal in lower case, without what it quotes of the request."""

    status: int | None
    code: str
    """The code and the type of the error."""
    param: str
    text: str

    @classmethod
    def of(cls, failure: ProviderFailure, words: RequestWords) -> RefusalText:
        """Read a failure, and cut the ``words`` of its request out."""
        code = f"{failure.code} {failure.type}".lower()
        return cls(failure.status, code, failure.param.lower(), words.cut_out_of(failure.text.lower()))

    @property
    def words(self) -> str:
        """Everything that the endpoint says."""
        return f"{self.code} {self.param} {self.text}"

    @property
    def topic(self) -> Topic | None:
        """The place that it names; None if it names none, or an optional field."""
        return _PLACES.get(self._root)

    def is_about(self, topic: Topic) -> bool:
        """Return whether it may be about a place of the request."""
        return self.topic in (None, topic)

    def marks(self, name: str) -> bool:
        """Return whether its ``param`` is a field, or a member of it."""
        if not self.param or self.topic is not None:
            return False
        return re.fullmatch(rf"(.*\.)?{_write(name)}", self.param) is not None or self._root == name

    def names(self, name: str) -> bool:
        """Return whether it names a field: by ``param``, or in its text as code does."""
        if self.marks(name):
            return True
        return self.topic is None and not _IN_SCHEMA.search(self.text) and self.mentions(name)

    def mentions(self, name: str) -> bool:
        """Return whether the text has a field's name, and not just a word of English."""
        if not re.search(rf"(?<![\w.]){_write(name)}(?!\w)", self.text):
            return False
        is_quoted = re.search(rf"['\"`]{_write(name)}\W", self.text) is not None
        return is_quoted or "_" in name or COMPLAINT.search(self.words) is not None

    def refers_to(self, name: str) -> bool:
        """Return whether it names a field of the messages."""
        return self.mentions(name) or re.search(rf"(^|\W){_write(name)}($|\W)", self.param) is not None

    def place_of(self, name: str) -> int:
        """Return where it names a field, -1 for its ``param``."""
        if re.search(rf"(^|\.){_write(name)}($|[.\[])", self.param):
            return -1
        match = re.search(rf"(?<![\w.]){_write(name)}(?!\w)", self.text)
        return match.start() if match is not None else len(self.text)

    @property
    def _root(self) -> str:
        return re.split(r"[.\[]", self.param)[0]


def _write(name: str) -> str:
    """Return how refusals write a field: ``reasoning_effort`` is ``reasoning.effort`` or ``reasoningEffort`` too."""
    return re.escape(name.lower()).replace("_", "[._]?")
