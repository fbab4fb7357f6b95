"""Stored form of records: without the texts that are stored with the thread or the agents' definitions anyway.

A turn's record repeats the whole prompt, most of which is the conversation. A compact record has references instead:
spans of ordinals for stored messages, a digest for an agent's system prompt, and a number for the messages of a call
that repeat those of an earlier call. A text is replaced only if the reference restores exactly the original.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product, takewhile
from typing import Any

from baton.domain.threads.message import Role, StoredMessage
from baton.memory.inspection.inspection import describe_sent_message, make_history_item
from baton.memory.prompt.context import make_summary_text
from baton.memory.recalled import BlockKind
from baton.ports.agents.chat_model import QUOTED_CONTEXT, Prompt
from baton.ports.threads.run_records import ContextRecord

MIN_REFERRED = 80
"""Characters of the shortest text that is replaced by a reference, which itself takes some space."""
MISSING = "messages and prompts that are no longer stored"
"""The note in ``cut`` of a record with references to texts that no longer exist."""

Json = dict[str, Any]

_FORMS: tuple[Json, ...] = ({}, {"parts": True})
"""The forms in which a stored message is sent: without and with its provider's parts."""
_LATER_FORMS: tuple[Json, ...] = ({"later": True}, {"parts": True, "later": True})
"""The forms in which a stored message is sent in later turns: without and with its provider's parts."""


def compact(record: Json, messages: Iterable[StoredMessage], prompts: Iterable[str]) -> ContextRecord:
    """Return the record without the texts of ``messages`` of its thread and without the agents' system ``prompts``.

    The result contains the prompts to which it refers, by their digests.
    """
    return _Compaction(messages, prompts).compact(record)


def expand(stored: ContextRecord, messages: Iterable[StoredMessage]) -> Json:
    """Return the record that ``compact`` was given. ``cut`` names what is no longer stored."""
    return _Expansion(messages, stored.prompts).expand(stored.body)


def list_referred_ordinals(body: Json) -> Iterator[int]:
    """Yield the ordinals of the messages to which a compact record refers; of a span, the first and the last."""
    entries = [(item, "text") for block in body["blocks"] for item in block["items"]]
    entries += [(message, "content") for call in body["calls"] for message in call["messages"]]
    for entry, name in entries:
        match entry:
            case {"from": int(first), "to": int(last)}:
                yield from (first, last)
            case _ if isinstance(text := entry.get(name), dict) and "prompt" not in text:
                yield text["message"] if "message" in text else text["summary"]


class _Compaction:
    def __init__(self, messages: Iterable[StoredMessage], prompts: Iterable[str]) -> None:
        self._messages = {message.ordinal: message for message in messages}
        self._by_id = {message.id: message for message in self._messages.values()}
        self._by_text: dict[str, list[StoredMessage]] = {}
        self._by_later_text: dict[str, list[StoredMessage]] = {}
        """The messages with citations, by their texts in later turns, which name passages instead of numbering them."""
        self._in_parts: list[StoredMessage] = []
        """The messages with several parts, such as files."""
        for message in self._messages.values():
            self._by_text.setdefault(message.text, []).append(message)
            if message.sources and (later := message.text_elsewhere) != message.text:
                self._by_later_text.setdefault(later, []).append(message)
            if not isinstance(message.content, str):
                self._in_parts.append(message)
        self._summaries = dict(_list_summary_texts(self._messages.values()))
        self._digests = {prompt: hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest() for prompt in prompts}
        self._used: dict[str, str] = {}
        """The prompts to which the compact record refers, by their digests."""

    def compact(self, record: Json) -> ContextRecord:
        stored_calls = record["calls"]
        calls = [
            {**call, "messages": self._compact_call_messages(call, stored_calls[:number])}
            for number, call in enumerate(stored_calls)
        ]
        blocks = [{**block, "items": self._compact_items(block)} for block in record["blocks"]]
        return ContextRecord({**record, "blocks": blocks, "calls": calls}, self._used)

    def _compact_items(self, block: Json) -> list[Json]:
        items: list[Json] = []
        for item in block["items"]:
            message = self._by_id.get(item["id"]) if block["kind"] == BlockKind.HISTORY.value else None
            reason, is_masked = item.get("reason"), item.get("masked", False)
            if message is None or make_history_item(message, reason, is_masked=is_masked) != item:
                items.append({**item, "text": self._compact_text(item["text"])})
                continue
            further = {**({"reason": reason} if reason is not None else {}), **({"masked": True} if is_masked else {})}
            _extend(items, message.ordinal, further)
        return items

    def _compact_call_messages(self, call: Json, earlier: Sequence[Json]) -> list[Json]:
        sent: list[Json] = call["messages"]
        messages: list[Json] = []
        index, count = _find_repeated(call, earlier)
        if count:
            messages.append({"call": index, "count": count})
        for message in sent[count:]:
            stored_pair = self._find_stored(message, messages)
            if stored_pair is None:
                messages.append({**message, "content": self._compact_text(message["content"])})
                continue
            stored, further = stored_pair
            _extend(messages, stored.ordinal, further)
        return messages

    def _find_stored(self, sent: Json, before: Sequence[Json]) -> tuple[StoredMessage, Json] | None:
        """Return the stored message that was sent, and the form in which it was sent; None if it is not stored.

        The message after the last of ``before`` is tried first, because it usually is the one.
        """
        content = sent["content"]
        candidates = self._by_text.get(content, []) if isinstance(content, str) else self._in_parts
        next_message = self._messages.get(before[-1]["to"] + 1) if before and "to" in before[-1] else None
        plain = candidates if next_message is None else (next_message, *candidates)
        later = self._by_later_text.get(content, []) if isinstance(content, str) else []
        pairs = chain(product(plain, _FORMS), product(later, _LATER_FORMS))
        return next((pair for pair in pairs if _render_as_sent(*pair) == sent), None)

    def _compact_text(self, text: Any) -> Any:
        if not isinstance(text, str) or len(text) < MIN_REFERRED:
            return text
        if text in self._digests:
            digest = self._digests[text]
            self._used[digest] = text
            return {"prompt": digest}
        if text in self._by_text:
            return {"message": self._by_text[text][-1].ordinal}
        return self._summaries.get(text, text)


class _Expansion:
    def __init__(self, messages: Iterable[StoredMessage], prompts: Mapping[str, str]) -> None:
        self._messages = {message.ordinal: message for message in messages}
        self._prompts = prompts
        self._summaries = {
            _make_key(reference): text for text, reference in _list_summary_texts(self._messages.values())
        }
        self._misses = False

    def expand(self, body: Json) -> Json:
        calls: list[Json] = []
        for call in body["calls"]:
            calls.append({**call, "messages": list(self._expand_call_messages(call["messages"], calls))})
        blocks = [{**block, "items": list(self._expand_items(block["items"]))} for block in body["blocks"]]
        cut = [*body["cut"], *([MISSING] if self._misses else [])]
        return {**body, "cut": cut, "blocks": blocks, "calls": calls}

    def _expand_items(self, items: Sequence[Json]) -> Iterator[Json]:
        for item in items:
            if "from" not in item:
                yield {**item, "text": self._expand_text(item["text"])}
                continue
            for message in self._expand_span(item):
                yield make_history_item(message, item.get("reason"), is_masked=item.get("masked", False))

    def _expand_call_messages(self, messages: Sequence[Json], earlier: Sequence[Json]) -> Iterator[Json]:
        for message in messages:
            if "count" in message:
                yield from earlier[message["call"]]["messages"][: message["count"]]
            elif "from" in message:
                for stored in self._expand_span(message):
                    yield _render_as_sent(stored, message)
            else:
                yield {**message, "content": self._expand_text(message["content"])}

    def _expand_span(self, span: Json) -> Iterator[StoredMessage]:
        for ordinal in range(span["from"], span["to"] + 1):
            message = self._messages.get(ordinal)
            if message is not None:
                yield message
            self._misses = self._misses or message is None

    def _expand_text(self, text: Any) -> Any:
        match text:
            case {"prompt": str(digest)}:
                self._misses = self._misses or digest not in self._prompts
                return self._prompts.get(digest, "")
            case {"message": int(ordinal)}:
                self._misses = self._misses or ordinal not in self._messages
                return self._messages[ordinal].text if ordinal in self._messages else ""
            case {"summary": int(), "agent": str()}:
                self._misses = self._misses or _make_key(text) not in self._summaries
                return self._summaries.get(_make_key(text), "")
        return text


def _extend(entries: list[Json], ordinal: int, further: Json) -> None:
    """Append the message at ``ordinal`` to the last span if it continues that span; otherwise begin a span."""
    last = entries[-1] if entries else {}
    if last.get("to") == ordinal - 1 and last == {"from": last.get("from"), "to": ordinal - 1, **further}:
        last["to"] = ordinal
    else:
        entries.append({"from": ordinal, "to": ordinal, **further})


def _find_repeated(call: Json, earlier: Sequence[Json]) -> tuple[int, int]:
    """Return the index of the same agent's previous call, and the number of its messages that the call repeats."""
    for index in range(len(earlier) - 1, -1, -1):
        before = earlier[index]
        if (before["agentId"], before["taskId"]) == (call["agentId"], call["taskId"]):
            pairs = zip(call["messages"], before["messages"], strict=False)
            return index, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return 0, 0


def _list_summary_texts(messages: Iterable[StoredMessage]) -> Iterator[tuple[str, Json]]:
    """Yield each stored summary with its reference, in the form of a block and in the form of a call."""
    for message in messages:
        for agent_id, summary in message.summaries.items():
            text = make_summary_text(summary)
            reference = {"summary": message.ordinal, "agent": agent_id}
            yield text, reference
            yield QUOTED_CONTEXT.format(text=text), {**reference, "quoted": True}


def _make_key(reference: Json) -> tuple[int, str, bool]:
    return reference["summary"], reference["agent"], reference.get("quoted", False)


def _render_as_sent(message: StoredMessage, form: Json) -> Json:
    """Return a stored message in the form in which it is sent to its agent's model."""
    content = message.text_elsewhere if form.get("later") else message.content
    if message.role is Role.TOOL:
        text = content if isinstance(content, str) else message.text
        return describe_sent_message(Prompt(Role.TOOL, text, tool_call_id=message.tool_call_id))
    parts = message.provider_parts if form.get("parts") else None
    return describe_sent_message(Prompt(message.role, content, tool_calls=message.tool_calls, provider_parts=parts))
