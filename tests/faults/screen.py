"""A client's view of a conversation: put together from events exactly as the protocol describes it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from baton_testing.fakes.threads.connections import events_in

Json = dict[str, Any]

ENDS = ("RUN_FINISHED", "RUN_ERROR")


@dataclass(frozen=True, slots=True)
class Shown:
    """A message on the screen."""

    id: str
    role: str
    content: str
    """Text, or parts as JSON."""
    status: str


@dataclass
class Screen:
    """A client's view of a thread. ``take`` every frame; resume from ``last`` whenever ``gap`` is set."""

    last: int = 0
    """The last sequence number up to which nothing is missing."""
    gap: bool = False
    """Whether something later came: what follows ``last`` has to be asked for."""
    events: dict[int, Json] = field(default_factory=dict)
    """The events that count, by number: those of attempts that died are dropped."""
    accepted: set[str] = field(default_factory=set)
    refused: list[Json] = field(default_factory=list)
    replayed: set[str] = field(default_factory=set)
    """Messages that were answered with a short form, because their events are no longer kept."""
    contradictions: list[str] = field(default_factory=list)
    """Faults that a client cannot notice, but a test can: the same number with another event, a question that became
    another, an end that was taken back."""
    base: list[Json] = field(default_factory=list)
    """The messages of a snapshot, where the log did not reach back to ``last``."""
    resumed_to: int = 0
    """The last number by a resume."""
    _questions: dict[str, str] = field(default_factory=dict)
    """The text of each message, as first shown."""
    _rebased: bool = False
    _parts: dict[str, dict[int, str]] = field(default_factory=dict)
    """Parts that have arrived, by the digest of their event, then by number."""

    def take_frame(self, frame: str) -> Iterator[Json]:
        """Take a WebSocket frame, event by event; the events it completes. Who stops early has lost the others."""
        for event in events_in(frame):
            whole = self._take_received(event)
            if whole is not None:
                yield whole

    def _take_received(self, event: Json) -> Json | None:
        if event["type"] != "PART":
            self.take(event)
            return event
        where = event["metadata"]
        parts = self._parts.setdefault(where["digest"], {})
        parts[where["part"]] = event["data"]
        if len(parts) < where["of"]:
            return None
        del self._parts[where["digest"]]
        whole: Json = json.loads("".join(parts[number] for number in sorted(parts)))
        self.take(whole)
        return whole

    def take(self, event: Json) -> None:
        """Take an event; events may come in any order and more than once."""
        metadata = event.get("metadata", {})
        seq = metadata.get("seq")
        if seq is None:
            self._take_unnumbered(event, metadata)
            return
        if seq in self.events and self.events[seq] != event:
            self.contradictions.append(f"{seq} differs: {difference(self.events[seq], event)}")
        self._note_question(event)
        if seq <= self.last:
            return
        jump = metadata.get("previousSeq")
        if jump is not None and (jump <= self.last or self._rebased):
            self._drop_after(jump)
        elif not self._follows(event, seq):
            self.gap = True
            return
        self.events[seq] = event
        self.last, self._rebased = seq, False

    def disconnect(self) -> None:
        """Drop the parts of an incomplete frame when the connection is lost."""
        self._parts.clear()

    def resume_after(self) -> int:
        """The number after which to ask for events; after a snapshot the one that it came with."""
        self.gap = False
        return self.last

    @property
    def seen(self) -> int:
        """The last number that nothing is missing up to, counting what a snapshot stands for."""
        return max(self.last, self.resumed_to) if self._rebased else self.last

    @property
    def runs(self) -> dict[str, list[Json]]:
        """The events of each run, in order; those that belong to none are left out."""
        runs: dict[str, list[Json]] = {}
        for seq in sorted(self.events):
            run_id = self.events[seq]["metadata"]["runId"]
            if run_id is not None:
                runs.setdefault(run_id, []).append(self.events[seq])
        return runs

    @property
    def answered(self) -> set[str]:
        """The ids of the messages whose runs have ended."""
        end = {
            run[0]["metadata"]["messageId"]
            for run in self.runs.values()
            if run[0]["type"] == "RUN_STARTED" and run[-1]["type"] in ENDS
        }
        return end | self.replayed | {message["id"] for message in self.base if message["role"] == "user"}

    @property
    def conversation(self) -> list[Shown]:
        """The messages, as they stand on the screen."""
        visible = {message["id"]: to_shown(message) for message in self.base}
        for run in self.runs.values():
            for message in _messages_of(run):
                visible[message.id] = message
        return list(visible.values())

    def problems(self) -> list[str]:
        """The events that break AG-UI's rules or the sequence's, once every run has ended."""
        results = list(self.contradictions)
        for run_id, run in self.runs.items():
            kinds = [event["type"] for event in run]
            attempts = {event["metadata"]["attempt"] for event in run}
            if kinds[0] != "RUN_STARTED" or kinds.count("RUN_STARTED") != 1 or len(attempts) != 1:
                results.append(f"run {run_id} does not begin once: {kinds}, attempts {attempts}")
            if kinds[-1] not in ENDS:
                results.append(f"run {run_id} does not end: {kinds}")
            open_texts: set[str] = set()
            for event in run:
                results += _out_of_place(event, open_texts)
            if open_texts:
                results.append(f"run {run_id} leaves something open: {kinds}")
        return results

    def _follows(self, event: Json, seq: int) -> bool:
        """Whether nothing is missing before the event. A snapshot is followed by what is kept, whole runs, or live."""
        if not self._rebased:
            return seq == self.last + 1
        return seq == self.resumed_to + 1 or (event["type"] == "RUN_STARTED" and seq <= self.resumed_to)

    def _drop_after(self, seq: int) -> None:
        """Forget the text of an attempt that died; one that had sent its end was committed."""
        dropped = [number for number in self.events if number > seq]
        for number in dropped:
            if self.events.pop(number)["type"] in ENDS:
                self.contradictions.append(f"{number} was the end of a run, and is taken back")

    def _note_question(self, event: Json) -> None:
        for message in _question_of(event):
            messages = _text(message["content"])
            if self._questions.setdefault(message["id"], messages) != messages:
                self.contradictions.append(f"{message['id']} has become another question")

    def _take_unnumbered(self, event: Json, metadata: Json) -> None:
        match event["type"]:
            case "STATE_SNAPSHOT" if "resume" in metadata:
                self.resumed_to = metadata["resume"]["lastSeq"]
            case "MESSAGES_SNAPSHOT" if metadata.get("replayed"):
                self.replayed |= {m["id"] for m in event["messages"] if m["role"] == "user"}
            case "MESSAGES_SNAPSHOT":
                self.base, self.events, self._rebased = event["messages"], {}, True
            case "RUN_ERROR" if "requestId" in metadata:
                self.refused.append(event)
            case "CUSTOM" if event["name"] == "message_accepted":
                self.accepted.add(event["value"]["messageId"])


def difference(one: Any, other: Any, at: str = "") -> str:
    """The difference of two events, for people."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = sorted(one.keys() | other.keys())
        return " ".join(
            difference(one.get(key), other.get(key), f"{at}.{key}") for key in keys if one.get(key) != other.get(key)
        )
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return " ".join(difference(a, b, f"{at}.{number}") for number, (a, b) in pairs if a != b)
    return f"{at}: {one!r} / {other!r}"


def to_shown(message: Json) -> Shown:
    """A message of ``GET /v1/threads/{id}/messages`` or of a MESSAGES_SNAPSHOT as a screen shows it."""
    return Shown(message["id"], message["role"], _text(message["content"]), message["metadata"]["status"])


def conversation_of(messages: Iterable[Json]) -> list[Shown]:
    """The store's messages as a screen shows them."""
    return [to_shown(message) for message in messages]


def _messages_of(run: list[Json]) -> list[Shown]:
    end = run[-1]
    succeeded = end["type"] == "RUN_FINISHED" and end["outcome"]["type"] == "success"
    status = "complete" if succeeded else "cancelled"
    texts: dict[str, str] = {}
    for event in run:
        if event["type"] == "TEXT_MESSAGE_START":
            texts[event["messageId"]] = ""
        elif event["type"] == "TEXT_MESSAGE_CONTENT":
            texts[event["messageId"]] = texts.get(event["messageId"], "") + event["delta"]
    question = [
        Shown(message["id"], message["role"], _text(message["content"]), "complete")
        for event in run
        for message in _question_of(event)
    ]
    return question + [Shown(message_id, "assistant", text, status) for message_id, text in texts.items()]


def _question_of(event: Json) -> list[Json]:
    """The message that a run answers, if this is the event that names it."""
    messages: list[Json] = event["input"]["messages"] if event["type"] == "RUN_STARTED" and "input" in event else []
    return messages[-1:]


def _out_of_place(event: Json, open_texts: set[str]) -> list[str]:
    """Return the problem of an event of a text, given the texts that are open, which it changes."""
    kind, message_id = event["type"], event.get("messageId", "")
    match kind:
        case "TEXT_MESSAGE_START" if message_id not in open_texts:
            open_texts.add(message_id)
        case "TEXT_MESSAGE_END" if message_id in open_texts:
            open_texts.remove(message_id)
        case "TEXT_MESSAGE_CONTENT" if message_id in open_texts:
            pass
        case "TEXT_MESSAGE_START" | "TEXT_MESSAGE_END" | "TEXT_MESSAGE_CONTENT":
            return [f"{kind} of {message_id} is out of place"]
    return []


def _text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, sort_keys=True)
