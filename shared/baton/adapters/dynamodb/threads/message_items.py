"""The item of a message: ids in 16 bytes, and a body without values that other attributes have.

A message of a few sentences stays below 1 KB with its run's last events, and so costs one write unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item, unpack_id
from baton.adapters.dynamodb.bodies import pack, unpack
from baton.adapters.dynamodb.shapes import MESSAGE
from baton.domain.threads.message import StoredMessage

SUMMARY = "summary#"
"""The prefix of the attributes with summaries of the messages before this one. The agent's id follows."""
_CONTENT = "TEXT_MESSAGE_CONTENT"
_OWN = 0
"""The value in an event in place of an id or usage that other attributes hold. Ids and usage are never numbers."""

Event = dict[str, Any]


def pack_message(message: StoredMessage, thread_id: str) -> bytes:
    """Return the body of a message's item."""
    body = MESSAGE.as_json(message)
    end = body.get("end")
    if end is not None and end.get("tail"):
        body["end"] = {
            **end,
            "tail": _compact_tail(end["tail"], _collect_facts(message.id, message.run_id, thread_id, end)),
        }
    return pack(body)


def unpack_message(packed: bytes, item: Item, thread_id: str) -> StoredMessage:
    """Return the message of an item with this body. Raises as ``Shape.unpack`` does."""
    body = unpack(packed)
    message_id, run_id = unpack_id(item["id"]), unpack_id(item["run_id"])
    if isinstance(body, dict) and isinstance(end := body.get("end"), dict) and isinstance(end.get("tail"), list):
        end["tail"] = _expand_tail(end["tail"], _collect_facts(message_id, run_id, thread_id, end))
    return MESSAGE.of_json(
        body,
        id=message_id,
        ordinal=keys.message.read_number(item),
        run_id=run_id,
        tokens=item["tokens"],
        fence=item["fence"],
        summaries={
            name.removeprefix(SUMMARY): stored if isinstance(stored, str) else unpack(stored)
            for name, stored in item.items()
            if name.startswith(SUMMARY)
        },
    )


def _collect_facts(message_id: str, run_id: str, thread_id: str, end: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a run's last events that other attributes of the item have."""
    usage, model = end.get("usage"), end.get("model")
    if not isinstance(usage, dict):
        return {"threadId": thread_id, "runId": run_id, "messageId": message_id}
    sent, answered, cached = (usage.get(f"{kind}_tokens", 0) for kind in ("input", "output", "cached_input"))
    counts = {"inputTokens": sent, "outputTokens": answered, "totalTokens": sent + answered}
    counts |= ({"model": model} if model is not None else {}) | ({"cachedInputTokens": cached} if cached else {})
    return {"threadId": thread_id, "runId": run_id, "messageId": message_id, "usage": [counts]}


def _compact_tail(tail: Sequence[Event], facts: Mapping[str, Any]) -> list[Any]:
    """Return a run's last events in a shorter form.

    Successive events with text of the message become one list: the beginning of the first span, and the length of each.
    """
    compact: list[Any] = []
    end: int | None = None
    """The end of the previous event's span; None if it has none."""
    for event in tail:
        span = _find_span(event, facts["messageId"])
        if span is not None:
            first, last = span
            if first != end:
                compact.append([first])
            compact[-1].append(last - first)
            end = last
        else:
            compact.append(
                {name: _OWN if name in facts and facts[name] == value else value for name, value in event.items()}
            )
            end = None
    return compact


def _find_span(event: Event, message_id: str) -> tuple[int, int] | None:
    """Return the span of an event that has only a piece of the message's text; None for other events."""
    if event.keys() != {"type", "messageId", "span"} or (event["type"], event["messageId"]) != (_CONTENT, message_id):
        return None
    match event["span"]:
        case [int(first), int(last)] if not isinstance(first, bool) and not isinstance(last, bool):
            return first, last
        case _:
            return None


def _expand_tail(compact: Sequence[Any], facts: Mapping[str, Any]) -> list[Event]:
    """Return the events that ``_compact_tail`` has shortened. Damaged entries stay as they are."""
    tail: list[Event] = []
    for entry in compact:
        match entry:
            case [int(first), *lengths] if all(isinstance(length, int) for length in lengths):
                for length in lengths:
                    end = first + length
                    tail.append({"type": _CONTENT, "messageId": facts["messageId"], "span": [first, end]})
                    first = end
            case dict():
                tail.append(
                    {name: facts[name] if name in facts and value == _OWN else value for name, value in entry.items()}
                )
            case _:
                tail.append(entry)  # a damaged entry, which ``MESSAGE`` refuses
    return tail
