"""Assemble the items of a Responses answer from the events of its stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from baton.adapters.models.answers.parts import TooManyParts, get_mapping, get_text, is_object, make_unique_calls
from baton.adapters.models.openai.tool_calls import MAX_CALLS
from baton.domain.runs.tool_call import ToolCall, as_object
from baton.domain.text import count_bytes


class ItemKind(StrEnum):
    """The kinds of items that count. Others, such as searches of the provider's own, are left out."""

    MESSAGE = "message"
    CALL = "function_call"
    REASONING = "reasoning"


@dataclass(slots=True)
class OutputItem:
    """One item of an answer."""

    kind: ItemKind
    id: str = ""
    phase: str | None = None
    """The kind of a message: ``commentary`` or ``final_answer``."""
    arrived_length: int = 0
    """Characters of a message that have arrived."""
    length: int = 0
    """Characters of this message in the answer's text, with the gap before it."""
    gap: int = 0
    """Characters before the message that separate it from an earlier one."""
    has_summary: bool = False
    call_id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    """The arguments of a call."""
    is_done: bool = False
    whole: dict[str, Any] | None = None
    """A complete reasoning item."""

    @property
    def arguments(self) -> str:
        """The arguments of a call; ``{}`` if the model wrote nothing."""
        return as_object("".join(self.pieces).strip())


class OutputItems:
    """The items of one answer, in their order.

    OpenAI announces each item, and names it in every event by its id and index. Other servers leave the announcement
    out, or the ids, or send every item under index 0, or send nothing but whole items.
    """

    def __init__(self) -> None:
        self.all: list[OutputItem] = []
        self.size = 0
        """Bytes of the calls."""
        self._by_id: dict[str, OutputItem] = {}
        self._by_index: dict[int, OutputItem] = {}

    @property
    def calls(self) -> list[OutputItem]:
        """The items that are calls."""
        return [item for item in self.all if item.kind is ItemKind.CALL]

    def begin_item(self, event: Mapping[str, Any]) -> OutputItem | None:
        """Return the item that an event begins; None for an item that does not count. Raises ``TooManyParts``."""
        kind = _read_kind(event)
        if kind is None:
            return None
        item = self._by_id.get(get_text(get_mapping(event.get("item")).get("id"))) or self._add(kind, event)
        return self._take_identity(item, event)

    def of(self, event: Mapping[str, Any], kind: ItemKind) -> OutputItem:
        """Return the item of ``kind`` that an event is about, a new one if none fits. Raises ``TooManyParts``."""
        identity = get_text(event.get("item_id"))
        item = self._find(event, kind, identity) or self._add(kind, event)
        if identity and not item.id:
            item.id = identity
            self._by_id.setdefault(identity, item)
        return item

    def end_item(self, event: Mapping[str, Any]) -> OutputItem | None:
        """Return the item that an event completes; None for an item that does not count. Raises ``TooManyParts``."""
        kind, whole = _read_kind(event), get_mapping(event.get("item"))
        if kind is None:
            return None
        identity = get_text(whole.get("id")) or get_text(whole.get("call_id"))
        item = self._take_identity(self._find(event, kind, identity) or self._add(kind, event), event)
        item.is_done = True
        return item

    def add_arguments(self, item: OutputItem, piece: object) -> None:
        """Add a piece of a call's arguments, or all of them as an object."""
        text = json.dumps(piece, ensure_ascii=False) if isinstance(piece, dict) else get_text(piece)
        if text:
            item.pieces.append(text)
            self.size += count_bytes(text)

    def replace_arguments(self, item: OutputItem, arguments: object) -> None:
        """Take the complete arguments of a call in place of the pieces that have arrived, unless they are empty."""
        if arguments in (None, ""):
            return
        self.size -= sum(map(count_bytes, item.pieces))
        item.pieces = []
        self.add_arguments(item, arguments)

    def make_tool_calls(self, *, cut: bool) -> list[tuple[OutputItem, ToolCall]]:
        """Return the calls with their items; if the answer was ``cut``, without those with incomplete arguments.

        Raises ``ModelUnavailable`` if a call has no name.
        """
        items = [item for item in self.calls if not cut or (item.is_done and is_object(item.arguments))]
        calls = make_unique_calls((item.call_id or item.id, item.name, item.arguments) for item in items)
        return list(zip(items, calls, strict=True))

    def _add(self, kind: ItemKind, event: Mapping[str, Any]) -> OutputItem:
        """Add a new item at the index of an event. Raises ``TooManyParts``."""
        if len(self.all) >= MAX_CALLS:
            raise TooManyParts
        item = OutputItem(kind)
        self.all.append(item)
        index = event.get("output_index")
        if isinstance(index, int):
            self._by_index[index] = item
        return item

    def _take_identity(self, item: OutputItem, event: Mapping[str, Any]) -> OutputItem:
        """Take the ids, name and phase of an event's item."""
        whole = get_mapping(event.get("item"))
        item.id = item.id or get_text(whole.get("id"))
        item.call_id = item.call_id or get_text(whole.get("call_id"))
        item.name = item.name or get_text(whole.get("name"))
        item.phase = get_text(whole.get("phase")) or item.phase
        for name in filter(None, (item.id, item.call_id)):
            self._by_id.setdefault(name, item)
        return item

    def _find(self, event: Mapping[str, Any], kind: ItemKind, identity: str) -> OutputItem | None:
        """Return the item with this id or index; for servers without them, the newest item that is not complete.

        Return None if no item fits.
        """
        item = self._by_id.get(identity) if identity else None
        if item is not None and item.kind is kind and (not item.is_done or item.id == identity):
            return item
        index = event.get("output_index")
        indexed = self._by_index.get(index) if isinstance(index, int) else None
        newest = next((output_item for output_item in reversed(self.all) if output_item.kind is kind), None)
        for item in (indexed, newest):
            if item is not None and item.kind is kind and not item.is_done and not (identity and item.id):
                return item
        return None


def _read_kind(event: Mapping[str, Any]) -> ItemKind | None:
    kind = get_mapping(event.get("item")).get("type")
    return ItemKind(kind) if kind in list(ItemKind) else None
