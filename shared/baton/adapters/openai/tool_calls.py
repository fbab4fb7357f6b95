"""Assemble tool calls from streamed fragments."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from baton.domain.errors import ModelUnavailable
from baton.domain.text import utf8_size
from baton.domain.tool_call import ToolCall, as_object

MAX_CALLS = 1000
"""Calls of one answer. Each fragment is compared with all of them."""
MAX_PARSED = 4 * 1024 * 1024
"""Characters that are parsed to find the ends of calls, for endpoints that do not mark them."""


class TooManyCalls(Exception):
    """The answer has too many calls or fragments."""


@dataclass(slots=True)
class _Draft:
    index: object
    id: str
    name: str
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    fields: dict[str, Any] = field(default_factory=dict)
    """Fields of the call that OpenAI's API does not know, such as a signature."""

    @property
    def arguments(self) -> str:
        return "".join(self.pieces).strip()

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are a complete JSON object."""
        if self.pieces and not self.pieces[-1].rstrip().endswith("}"):
            return False
        try:
            return isinstance(json.loads(self.arguments), dict)
        except (ValueError, RecursionError):
            return False


class ToolCallFragments:
    """The tool calls of one answer.

    OpenAI sends each call with an ``index``, its id and name in the first fragment, and then pieces of its arguments.
    Other endpoints omit the index or the id, send every call complete under index 0, repeat the name in each fragment,
    send the arguments as an object, or send ``null`` for none.
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        """``names`` are those of the tools that may be called."""
        self._names = names
        self._drafts: list[_Draft] = []
        self._parsed = 0
        self.size = 0
        """Bytes of all fragments."""
        self.fields: list[dict[str, Any]] = []
        """The unknown fields of each call that ``take`` returned, which the endpoint wants back."""

    def add(self, fragments: object) -> None:
        """Take a delta's ``tool_calls``; ``TypeError`` if it is not a list. Raises ``TooManyCalls``."""
        if fragments is None:
            return
        if not isinstance(fragments, list):
            raise TypeError(type(fragments))
        for fragment in fragments:
            self._add(fragment)
            if len(self._drafts) > MAX_CALLS or self._parsed > MAX_PARSED:
                del self._drafts[MAX_CALLS:]
                raise TooManyCalls

    @property
    def are_whole(self) -> bool:
        """True if there are calls, and each has a name and complete arguments."""
        return bool(self._drafts) and all(draft.name and draft.is_whole for draft in self._drafts)

    def take(self, *, cut: bool) -> list[ToolCall]:
        """Return and clear the calls, in order, without those whose arguments were ``cut`` off.

        Raises ``ModelUnavailable`` if a call has no name.
        """
        drafts, self._drafts = self._drafts, []
        calls: list[ToolCall] = []
        taken: set[str] = set()
        for draft in drafts:
            if cut and not draft.is_whole:
                continue
            if not draft.name:
                raise ModelUnavailable
            # Results are matched by unique ids, but some endpoints send none or the same one for every call.
            identity = draft.id if draft.id and draft.id not in taken else f"call_{uuid.uuid4().hex[:24]}"
            taken.add(identity)
            calls.append(ToolCall(identity, draft.name, as_object(draft.arguments)))
            self.fields.append(draft.fields)
        return calls

    def _add(self, fragment: object) -> None:
        # The SDK does not validate: any of these may be missing or of another type.
        function = getattr(fragment, "function", None)
        index, identity = getattr(fragment, "index", None), _text(getattr(fragment, "id", None))
        name, arguments = _text(getattr(function, "name", None)), getattr(function, "arguments", None)
        draft = self._draft(index, identity, name)
        if draft is None or (name and self._begins_another(draft, identity, name, arguments)):
            draft = _Draft(index, identity, name)
            self._drafts.append(draft)
            self.size += len(identity) + len(name)
        for holder in (fragment, function):
            extra = getattr(holder, "model_extra", None)
            if isinstance(extra, dict) and extra:
                draft.fields |= extra
                self.size += sum(len(str(value)) for value in extra.values())
        draft.id = draft.id or identity
        if name and self._continues_name(draft, name):
            draft.name += name
        draft.name = draft.name or name
        piece = json.dumps(arguments, ensure_ascii=False) if isinstance(arguments, dict) else _text(arguments)
        if piece:
            draft.pieces.append(piece)
            draft.length += len(piece)
            self.size += utf8_size(piece)

    def _draft(self, index: object, identity: str, name: str) -> _Draft | None:
        """Return the newest call that the fragment may belong to."""
        if index is not None:
            return next((draft for draft in reversed(self._drafts) if draft.index == index), None)
        if identity:
            same = next((draft for draft in reversed(self._drafts) if draft.id == identity), None)
            if same is not None or name:
                return same
        return self._drafts[-1] if self._drafts else None

    def _continues_name(self, draft: _Draft, name: str) -> bool:
        """Return whether ``name`` is the next piece of a name that is no tool's yet."""
        if not draft.name or draft.name in self._names:
            return False
        return any(each.startswith(draft.name + name) for each in self._names)

    def _begins_another(self, draft: _Draft, identity: str, name: str, arguments: object) -> bool:
        """Return whether a fragment with a name opens a new call, though its index is that of ``draft``."""
        if draft.name and name != draft.name:
            return not self._continues_name(draft, name)
        if identity and draft.id and identity != draft.id:
            return True
        if not arguments:
            return False
        # Endpoints without indices send the calls of one tool one after the other, each complete.
        self._parsed += draft.length
        return draft.is_whole


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
