"""Assemble tool calls from streamed fragments."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from baton.adapters.models.answers.parts import TooManyParts, get_mapping, get_text, is_object, make_unique_calls
from baton.domain.runs.tool_call import ToolCall, as_object
from baton.domain.text import count_bytes

MAX_CALLS = 1000
"""The maximum number of calls in one answer."""
_MARK = re.compile(r'\\.?|["{}]', re.DOTALL)
MIN_FRAGMENT = 4
"""The minimum number of bytes that are counted for a fragment, so that empty fragments are limited too."""
_OF_FRAGMENTS = frozenset({"index", "id", "type", "function"})
_OF_FUNCTIONS = frozenset({"name", "arguments"})
"""The members that OpenAI's API knows."""


@dataclass(slots=True)
class _Draft:
    """A call that arrives in fragments."""

    id: str
    name: str
    pieces: list[str] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)
    """Fields of the call that OpenAI's API does not know, such as a signature."""
    _read: int = 0
    """The number of pieces that ``is_closed`` has read."""
    _depth: int = 0
    _has_begun: bool = False
    _is_in_text: bool = False
    _is_escaped: bool = False

    @property
    def arguments(self) -> str:
        """The arguments that have arrived, as one text."""
        return "".join(self.pieces).strip()

    @property
    def is_closed(self) -> bool:
        """Whether the arguments are an object that has ended. Each piece is read only once."""
        for piece in self.pieces[self._read :]:
            text, self._is_escaped = piece[1:] if self._is_escaped else piece, False
            for mark in _MARK.findall(text):
                if mark == '"':
                    self._is_in_text = not self._is_in_text
                elif mark in "{}" and not self._is_in_text:
                    self._depth += 1 if mark == "{" else -1
                    self._has_begun = True
                self._is_escaped = mark == "\\"  # the character that it escapes is in the next piece
        self._read = len(self.pieces)
        return self._has_begun and self._depth == 0 and not self._is_in_text


class ToolCallFragments:
    """The tool calls of one answer.

    OpenAI sends each call with an ``index``, its id and name in the first fragment, and then pieces of its arguments.
    Other endpoints omit the index or the id, send every call complete under index 0, repeat the name in each fragment,
    send the arguments as an object, or send ``null`` for none.
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        """``names`` are the names of the tools that may be called."""
        self._names = names
        self._drafts: list[_Draft] = []
        self._newest: dict[tuple[str, object], _Draft] = {}
        """The newest call by its index and by its id."""
        self.size = 0
        """Approximate bytes of all fragments."""
        self.fields: list[dict[str, Any]] = []
        """The unknown fields of each call that ``take`` returned, which the endpoint wants back."""

    def add(self, fragments: object) -> None:
        """Take a delta's ``tool_calls``. Raises ``TypeError`` if it is not a list or None, and ``TooManyParts``."""
        if fragments is None:
            return
        if not isinstance(fragments, list):
            raise TypeError(type(fragments))
        for fragment in fragments:
            self._add(fragment)
            if len(self._drafts) > MAX_CALLS:
                del self._drafts[MAX_CALLS:]
                raise TooManyParts

    @property
    def are_whole(self) -> bool:
        """Whether there are calls, and each has a name and complete arguments."""
        return bool(self._drafts) and all(draft.name and is_object(draft.arguments) for draft in self._drafts)

    def take(self, *, cut: bool) -> list[ToolCall]:
        """Return and clear the calls, in order; if the answer was ``cut``, without those with incomplete arguments.

        Raises ``ModelUnavailable`` if a call has no name.
        """
        drafts = [draft for draft in self._drafts if not cut or is_object(draft.arguments)]
        self._drafts = []
        calls = make_unique_calls((draft.id, draft.name, as_object(draft.arguments)) for draft in drafts)
        self.fields += [draft.fields for draft in drafts]
        return calls

    def _add(self, fragment: object) -> None:
        """Take a fragment, which continues a call or begins another one."""
        # The fragment is not validated: any member may be missing or of another type.
        whole = get_mapping(fragment)
        function = get_mapping(whole.get("function"))
        index, identity = whole.get("index"), get_text(whole.get("id"))
        index = index if isinstance(index, int | str) else None
        name, arguments = get_text(function.get("name")), function.get("arguments")
        self.size += MIN_FRAGMENT
        draft = self._find_draft(index, identity, name)
        if draft is None or (name and self._begins_another(draft, identity, name, arguments)):
            draft = _Draft(identity, name)
            self._drafts.append(draft)
            self.size += len(identity) + len(name)
        for holder, usual in ((whole, _OF_FRAGMENTS), (function, _OF_FUNCTIONS)):
            if holder.keys() - usual:
                extra = {key: value for key, value in holder.items() if key not in usual}
                draft.fields |= extra
                self.size += sum(len(str(value)) for value in extra.values())
        draft.id = draft.id or identity
        self._newest[("id", draft.id)] = self._newest[("index", index)] = draft
        if name and self._continues_name(draft, name):
            draft.name += name
        draft.name = draft.name or name
        piece = json.dumps(arguments, ensure_ascii=False) if isinstance(arguments, dict) else get_text(arguments)
        if piece:
            draft.pieces.append(piece)
            self.size += max(0, count_bytes(piece) - MIN_FRAGMENT)

    def _find_draft(self, index: object, identity: str, name: str) -> _Draft | None:
        """Return the newest call that the fragment may belong to; None if there is none."""
        if index is not None:
            return self._newest.get(("index", index))
        if identity:
            same = self._newest.get(("id", identity))
            if same is not None or name:
                return same
        return self._drafts[-1] if self._drafts else None

    def _continues_name(self, draft: _Draft, name: str) -> bool:
        """Return whether ``name`` is the next piece of the draft's incomplete name."""
        if name.startswith("<|"):  # a mark of the chat template
            return bool(draft.name)
        if not draft.name or draft.name in self._names:
            return False
        return any(known_name.startswith(draft.name + name) for known_name in self._names)

    def _begins_another(self, draft: _Draft, identity: str, name: str, arguments: object) -> bool:
        """Return whether a fragment with a name opens a new call, though it has the index of ``draft``."""
        if draft.name and name != draft.name:
            return not self._continues_name(draft, name)
        if identity and draft.id and identity != draft.id:
            return True
        # Endpoints without indices send the calls of one tool one after the other, each complete.
        return bool(arguments) and draft.is_closed
