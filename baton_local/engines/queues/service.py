"""SQS's actions on queues in memory, which a journal may store. They run on one event loop only."""

import asyncio
import contextlib
import hashlib
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from baton_local.account import ACCOUNT, REGION
from baton_local.engines.queues.fifo import FifoQueue, Message, ReceiptExpired, Rules
from baton_local.engines.queues.journal import Journal

Json = dict[str, Any]

MAX_BODY = 1024 * 1024
"""Bytes: SQS's limit."""
FIXED = {"FifoQueue"}
"""Attributes that cannot be changed."""


class SqsError(Exception):
    """An error of SQS's API; ``code`` is SQS's name for it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class SqsService:
    """Queues behind the actions that Baton and its local cloud use. In a standard queue each message is a group."""

    def __init__(self, endpoint: str, journal: Journal | None, clock: Callable[[], float] = time.time) -> None:
        """``endpoint`` begins the queues' URLs. ``journal`` keeps the queues; None keeps them in memory only.

        ``clock`` returns seconds since the epoch.
        """
        self._endpoint = endpoint
        self._journal = journal
        self._clock = clock
        self._attributes: dict[str, dict[str, str]] = {}
        self._queues: dict[str, FifoQueue] = {}
        self._changed: dict[str, asyncio.Event] = {}
        self._is_released = False
        for name, (attributes, queue) in (journal.load(clock()) if journal else {}).items():
            self._attributes[name], self._queues[name] = attributes, queue

    def release(self) -> None:
        """End all waits for messages, and let later ones return at once."""
        self._is_released = True
        for event in self._changed.values():
            event.set()

    async def handle(self, action: str, request: Json) -> Json:
        """Carry out an action and return its answer. If there is a journal, the changes are on disk then.

        Raises ``SqsError``; ``KeyError``, ``TypeError`` or ``ValueError`` for a malformed request; ``sqlite3.Error``.
        """
        match action:
            case "CreateQueue":
                return self._create(request["QueueName"], request.get("Attributes", {}))
            case "ListQueues":
                return {"QueueUrls": [self._make_url(name) for name in sorted(self._queues)]}
            case "GetQueueUrl":
                return {"QueueUrl": self._make_url(self._check_name(request["QueueName"]))}
            case "GetQueueAttributes":
                return {"Attributes": self._describe(self._find_by_url(request))}
            case "SetQueueAttributes":
                self._define(self._find_by_url(request), request["Attributes"])
                return {}
            case "SendMessage":
                return self._send(self._find_by_url(request), request)
            case "ReceiveMessage":
                return {"Messages": await self._receive(self._find_by_url(request), request)}
            case "DeleteMessage":
                return self._act_on_receipt(request, lambda queue, receipt, now: queue.delete(receipt, now))
            case "ChangeMessageVisibility":
                seconds = float(request["VisibilityTimeout"])
                return self._act_on_receipt(
                    request, lambda queue, receipt, now: queue.change_visibility(receipt, seconds, now)
                )
        raise SqsError("UnsupportedOperation", f"The local queue does not support {action}.")

    def _create(self, name: str, attributes: dict[str, str]) -> Json:
        """Create a queue, unless it exists with the same attributes. Raises ``SqsError``."""
        if (attributes.get("FifoQueue") == "true") is not name.endswith(".fifo"):
            raise SqsError("InvalidParameterValue", "The name of a FIFO queue, and of no other, ends with .fifo.")
        if name not in self._queues:
            self._define(name, attributes)
        elif attributes.items() - self._attributes[name].items():
            raise SqsError("QueueNameExists", f"{name} exists with other attributes.")
        return {"QueueUrl": self._make_url(name)}

    def _define(self, name: str, attributes: dict[str, str]) -> None:
        """Set the attributes of a new or an existing queue. Raises ``SqsError``."""
        existing = self._attributes.get(name, {})
        if existing and any(existing.get(fixed) != attributes.get(fixed, existing.get(fixed)) for fixed in FIXED):
            raise SqsError("InvalidAttributeName", f"{', '.join(FIXED)} cannot be changed.")
        merged = {**existing, **attributes}
        try:
            rules = Rules.of(merged)
        except ValueError as problem:
            raise SqsError("InvalidAttributeValue", str(problem)) from problem
        if self._journal:
            self._journal.define(name, merged)
        self._attributes[name] = merged
        self._queues.setdefault(name, FifoQueue(rules)).rules = rules

    def _send(self, name: str, request: Json) -> Json:
        """Add a message, unless it was sent before under its deduplication id. Raises ``SqsError``."""
        body, group = request["MessageBody"], request.get("MessageGroupId")
        deduplication_id, delay = request.get("MessageDeduplicationId"), 0.0
        if self._attributes[name].get("FifoQueue") != "true":
            # Messages of a standard queue have no order and no deduplication.
            group = deduplication_id = str(uuid.uuid4())
            delay = float(request.get("DelaySeconds", 0))
        if not group:
            raise SqsError("MissingParameter", "The request must contain the parameter MessageGroupId.")
        if self._attributes[name].get("ContentBasedDeduplication") == "true":
            deduplication_id = deduplication_id or hashlib.sha256(body.encode()).hexdigest()
        if not deduplication_id:
            raise SqsError("InvalidParameterValue", "The queue needs a MessageDeduplicationId.")
        if len(body.encode()) > MAX_BODY:
            raise SqsError("InvalidParameterValue", f"The message is longer than {MAX_BODY} bytes.")
        queue, now = self._queues[name], self._clock()
        sent = queue.find_sent(group, deduplication_id, now)
        number, message_id = (sent.number, sent.message_id) if sent else (0, str(uuid.uuid4()))
        if not sent:
            message = Message(
                0, message_id, body, request.get("MessageAttributes", {}), group, deduplication_id, sent_at=now
            )
            message.visible_at = now + delay if delay else 0.0
            queue.send(message, now)
            number = message.number
        self._save()  # a repeated message, too, because the first request's save may have failed
        return {
            "MessageId": message_id,
            "MD5OfMessageBody": _hash_md5(body),
            "SequenceNumber": _format_sequence(number),
        }

    async def _receive(self, name: str, request: Json) -> list[Json]:
        """Return messages, once there are any or the waiting time is over. Raises ``SqsError``."""
        count = int(request.get("MaxNumberOfMessages", 1))
        if not 1 <= count <= 10:
            raise SqsError("InvalidParameterValue", "MaxNumberOfMessages must be between 1 and 10.")
        wait = request.get("WaitTimeSeconds", self._attributes[name].get("ReceiveMessageWaitTimeSeconds", 0))
        visibility = request.get("VisibilityTimeout")
        attribute_names = {*request.get("AttributeNames", []), *request.get("MessageSystemAttributeNames", [])}
        until = self._clock() + float(wait)
        while not (received := self._take(name, count, None if visibility is None else float(visibility))):
            now = self._clock()
            if now >= until or self._is_released:
                break
            await self._wait(name, min(until, self._queues[name].find_next_visible_at(now) or until) - now)
        return [_as_received(message, attribute_names) for message in received]

    def _take(self, name: str, count: int, visibility: float | None) -> list[Message]:
        """Return the messages that can be received now, after moving others to the dead-letter queue.

        Raises ``SqsError`` if the queue names a dead-letter queue that does not exist. Nothing is received then.
        """
        queue, now = self._queues[name], self._clock()
        target = queue.rules.dead_letters_to
        dead_letter_queue = self._check_name(str(target).rpartition(":")[2]) if target else ""
        received, dead = queue.receive(count, now, visibility)
        self._move_to_dead_letters(name, dead_letter_queue, dead, now)
        self._save()
        return received

    def _move_to_dead_letters(self, name: str, dead_letter_queue: str, dead: list[Message], now: float) -> None:
        """Move messages that were received too often to the dead-letter queue, in their order."""
        for message in dead:
            letter = Message(
                0,
                message.message_id,
                message.body,
                message.attributes,
                message.group,
                message.deduplication_id,
                sent_at=message.sent_at,
                dead_letter_of=_make_arn(name),
            )
            self._queues[dead_letter_queue].send(letter, now)

    async def _wait(self, name: str, seconds: float) -> None:
        """Return when the queue has changed, or after ``seconds``."""
        event = self._changed.setdefault(name, asyncio.Event())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), max(seconds, 0.001))

    def _act_on_receipt(self, request: Json, act: Callable[[FifoQueue, str, float], None]) -> Json:
        """Do ``act`` with a queue, a receipt and the time, and save the change. Raises ``SqsError``."""
        name = self._find_by_url(request)
        try:
            act(self._queues[name], request["ReceiptHandle"], self._clock())
        except ReceiptExpired as problem:
            raise SqsError("InvalidParameterValue", "The receipt handle has expired.") from problem
        except ValueError as problem:
            raise SqsError("ReceiptHandleIsInvalid", "The input receipt handle is invalid.") from problem
        self._save()
        return {}

    def _save(self) -> None:
        """Store all changes, including those whose storing failed before, then wake up the waiting receivers."""
        queues = {name: queue for name, queue in self._queues.items() if queue.has_changed}
        if self._journal and queues:
            self._journal.save(queues, self._clock())
        for name, queue in queues.items():
            queue.forget_changes()
            if event := self._changed.pop(name, None):
                event.set()

    def _describe(self, name: str) -> dict[str, str]:
        waiting, in_flight = self._queues[name].count(self._clock())
        return {
            **self._attributes[name],
            "QueueArn": _make_arn(name),
            "ApproximateNumberOfMessages": str(waiting),
            "ApproximateNumberOfMessagesNotVisible": str(in_flight),
            "ApproximateNumberOfMessagesDelayed": "0",
        }

    def _find_by_url(self, request: Mapping[str, str]) -> str:
        return self._check_name(request["QueueUrl"].rpartition("/")[2])

    def _check_name(self, name: str) -> str:
        if name not in self._queues:
            raise SqsError("QueueDoesNotExist", "The specified queue does not exist.")
        return name

    def _make_url(self, name: str) -> str:
        return f"{self._endpoint}/{ACCOUNT}/{name}"


def _as_received(message: Message, attribute_names: set[str]) -> Json:
    attributes = {
        "ApproximateFirstReceiveTimestamp": str(int((message.first_received_at or 0) * 1000)),
        "ApproximateReceiveCount": str(message.receives),
        "MessageDeduplicationId": message.deduplication_id,
        "MessageGroupId": message.group,
        "SenderId": "local",
        "SentTimestamp": str(int(message.sent_at * 1000)),
        "SequenceNumber": _format_sequence(message.number),
    }
    if message.dead_letter_of:
        attributes["DeadLetterQueueSourceArn"] = message.dead_letter_of
    return {
        "MessageId": message.message_id,
        "ReceiptHandle": message.receipt,
        "Body": message.body,
        "MD5OfBody": _hash_md5(message.body),
        "Attributes": {name: value for name, value in attributes.items() if attribute_names & {name, "All"}},
        "MessageAttributes": message.attributes,
    }


def _format_sequence(number: int) -> str:
    return f"{number:020d}"


def _make_arn(name: str) -> str:
    return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"


def _hash_md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
