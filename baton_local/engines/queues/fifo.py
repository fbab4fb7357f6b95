"""The rules of one FIFO queue, as in the SQS developer guide. There is no I/O, and callers pass the time.

A group is not served while one of its messages is in flight. The messages of a group are received in the order of
sending. Of several waiting groups, the one served longest ago is next. SQS promises no order of groups. Here tenants
take turns, because all their work shares one machine; the names of the product's groups begin with the tenant.
"""

import itertools
import json
import secrets
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import takewhile
from typing import Any, Self

from cachetools import LRUCache

DEDUPLICATION_SECONDS = 300.0
"""SQS's deduplication interval. An id sent again within it is the same message, even if that was deleted."""
MAX_TENANTS = 10_000
"""The number of tenants whose last service the queue remembers."""


class ReceiptExpired(Exception):
    """An error because a message is not in flight under a receipt: its timeout passed, or it was received again."""


@dataclass(eq=False)
class Message:
    """One message; times are seconds since the epoch."""

    number: int
    """The sequence number, which grows within the queue, also over restarts."""
    message_id: str
    body: str
    attributes: dict[str, Any]
    """Message attributes as they were sent."""
    group: str
    deduplication_id: str
    sent_at: float
    visible_at: float = 0.0
    receives: int = 0
    first_received_at: float | None = None
    receipt: str = ""
    """The receipt of the last receive."""
    dead_letter_of: str | None = None
    """ARN of the queue where it was received too often."""


@dataclass(frozen=True)
class Sent:
    """The message that was sent under a deduplication id."""

    scope: str
    """The deduplication id, with its group if ids count within groups only. See ``Rules.by_group``."""
    number: int
    message_id: str
    until: float
    """The end of the deduplication interval, in seconds since the epoch."""


@dataclass(frozen=True)
class Rules:
    """The rules that a queue's attributes set."""

    visibility: float = 30.0
    """Seconds for which a received message is hidden."""
    by_group: bool = False
    """A deduplication id counts within its group only (DeduplicationScope: messageGroup)."""
    dead_letters_to: str | None = None
    """ARN of the dead-letter queue."""
    receives_before_that: int = 0
    """Receives after which a message goes to the dead-letter queue; 0: without limit."""

    @classmethod
    def of(cls, attributes: Mapping[str, str]) -> Self:
        """Return the rules of a queue with these SQS attributes. Raises ``ValueError`` for malformed values."""
        redrive = json.loads(attributes.get("RedrivePolicy") or "{}")
        return cls(
            visibility=float(attributes.get("VisibilityTimeout", 30)),
            by_group=attributes.get("DeduplicationScope") == "messageGroup",
            dead_letters_to=redrive.get("deadLetterTargetArn"),
            receives_before_that=int(redrive.get("maxReceiveCount", 0)),
        )


@dataclass
class FifoQueue:
    """One queue. ``changed``, ``removed`` and ``remembered`` hold the effects of a call, for the journal."""

    rules: Rules
    last_number: int = 0
    changed: dict[int, Message] = field(default_factory=dict)
    removed: set[int] = field(default_factory=set)
    remembered: list[Sent] = field(default_factory=list)
    _groups: OrderedDict[str, deque[Message]] = field(default_factory=OrderedDict)
    """The group that was served longest ago is the first."""
    _by_number: dict[int, Message] = field(default_factory=dict)
    _served: LRUCache[str, int] = field(default_factory=lambda: LRUCache(MAX_TENANTS))
    """The number of the last service of each tenant."""
    _services: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _sent: dict[str, Sent] = field(default_factory=dict)

    @property
    def has_changed(self) -> bool:
        """Whether there are effects that the journal has not stored."""
        return bool(self.changed or self.removed or self.remembered)

    def forget_changes(self) -> None:
        """Clear the effects, which the journal has stored."""
        self.changed.clear()
        self.removed.clear()
        self.remembered.clear()

    def restore(self, messages: Iterable[Message], sent: Iterable[Sent]) -> None:
        """Add what an earlier run left. No message is in flight any more, since its consumers ended with that run."""
        for message in sorted(messages, key=lambda message: message.number):
            message.visible_at = 0.0 if message.receives else message.visible_at
            self._append(message)
        for record in sorted(sent, key=lambda record: record.until):
            self._sent[record.scope] = record
            self.last_number = max(self.last_number, record.number)

    def find_sent(self, group: str, deduplication_id: str, now: float) -> Sent | None:
        """Return the message that was sent under this id within the last five minutes, or None."""
        record = self._sent.get(self._make_scope(group, deduplication_id))
        return record if record and record.until > now else None

    def send(self, message: Message, now: float) -> None:
        """Add a message that ``find_sent`` does not find, and set its number."""
        message.number = max(self.last_number + 1, int(now * 1_000_000))
        self._append(message)
        self.changed[message.number] = message
        for old in list(takewhile(lambda record: record.until <= now, self._sent.values())):
            del self._sent[old.scope]
        scope = self._make_scope(message.group, message.deduplication_id)
        record = Sent(scope, message.number, message.message_id, now + DEDUPLICATION_SECONDS)
        self._sent.pop(scope, None)
        self._sent[scope] = record  # at the end, because records are ordered by ``until``
        self.remembered.append(record)

    def receive(self, count: int, now: float, visibility: float | None = None) -> tuple[list[Message], list[Message]]:
        """Return up to ``count`` messages, which are in flight now, and messages that were received too often.

        As many messages as possible are of one group, then of the next. Messages that were received too often are
        removed from this queue. ``visibility`` are seconds; None takes the queue's own.
        """
        hidden_until = now + (self.rules.visibility if visibility is None else visibility)
        received: list[Message] = []
        dead: list[Message] = []
        served: set[str] = set()
        while len(received) < count and (group := self._choose_group(now, served)) is not None:
            served.add(group)
            self._served[_read_tenant(group)] = next(self._services)
            for message in list(self._groups[group]):
                if len(received) == count:
                    break
                if self._is_worn_out(message):
                    self._drop(message)
                    dead.append(message)
                else:
                    self._hand_out(message, now, hidden_until)
                    received.append(message)
            if group in self._groups:
                self._groups.move_to_end(group)
        return received, dead

    def delete(self, receipt: str, now: float) -> None:
        """Delete the message; a missing one is not an error.

        Raises ``ReceiptExpired``, and ``ValueError`` for a malformed receipt.
        """
        message = self._find_in_flight(receipt, now)
        if message:
            self._drop(message)

    def change_visibility(self, receipt: str, seconds: float, now: float) -> None:
        """Hide the message for ``seconds`` from now; 0 makes it visible at once.

        Raises ``ReceiptExpired``, also for a deleted message, and ``ValueError`` for a malformed receipt.
        """
        message = self._find_in_flight(receipt, now)
        if message is None:
            raise ReceiptExpired
        message.visible_at = now + seconds
        self.changed[message.number] = message

    def find_next_visible_at(self, now: float) -> float | None:
        """Return when the next visibility timeout or delay ends, in seconds since the epoch; None if none is hidden."""
        return min(
            (message.visible_at for group in self._groups for message in self._find_hidden(group, now)), default=None
        )

    def count(self, now: float) -> tuple[int, int]:
        """Return how many messages wait, and how many are hidden: in flight or delayed."""
        hidden = sum(1 for group in self._groups for _ in self._find_hidden(group, now))
        return len(self._by_number) - hidden, hidden

    def _append(self, message: Message) -> None:
        self.last_number = max(self.last_number, message.number)
        self._by_number[message.number] = message
        self._groups.setdefault(message.group, deque()).append(message)

    def _drop(self, message: Message) -> None:
        del self._by_number[message.number]
        waiting = self._groups[message.group]
        waiting.remove(message)
        if not waiting:
            del self._groups[message.group]
        self.changed.pop(message.number, None)
        self.removed.add(message.number)

    def _hand_out(self, message: Message, now: float, hidden_until: float) -> None:
        message.receives += 1
        message.first_received_at = message.first_received_at or now
        message.visible_at = hidden_until
        message.receipt = f"{message.number}.{secrets.token_urlsafe(12)}"
        self.changed[message.number] = message

    def _find_hidden(self, group: str, now: float) -> Iterator[Message]:
        """Yield a group's messages in flight or delayed. They are among its first: the others were never hidden."""
        touched = takewhile(lambda message: message.receives or message.visible_at, self._groups[group])
        return (message for message in touched if message.visible_at > now)

    def _choose_group(self, now: float, served: set[str]) -> str | None:
        """Return the group that is served next: of the tenant served longest ago, the group served longest ago."""
        free = (group for group in self._groups if group not in served and not self._is_busy(group, now))
        return min(free, key=lambda group: self._served.get(_read_tenant(group), 0), default=None)

    def _is_busy(self, group: str, now: float) -> bool:
        return any(True for _ in self._find_hidden(group, now))

    def _is_worn_out(self, message: Message) -> bool:
        limit = self.rules.receives_before_that
        return bool(self.rules.dead_letters_to and limit and message.receives >= limit)

    def _find_in_flight(self, receipt: str, now: float) -> Message | None:
        """Return the message with this receipt; None if it was deleted. Raises as ``change_visibility`` does."""
        message = self._by_number.get(int(receipt.partition(".")[0]))
        if message and (message.receipt != receipt or message.visible_at <= now):
            raise ReceiptExpired
        return message

    def _make_scope(self, group: str, deduplication_id: str) -> str:
        """Return the key of a deduplication id. See ``Sent.scope``."""
        return json.dumps([group, deduplication_id] if self.rules.by_group else [deduplication_id])


def as_text(message: Message) -> str:
    """Return a message as the journal keeps it."""
    return json.dumps(asdict(message))


def from_text(text: str) -> Message:
    """Return the message that ``as_text`` wrote."""
    return Message(**json.loads(text))


def _read_tenant(group: str) -> str:
    """Return the tenant of a group of the product, whose name is ``tenant#...``; otherwise the whole name."""
    return group.partition("#")[0]
