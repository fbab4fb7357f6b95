"""Events of other systems, which begin runs in conversations."""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass
from typing import Any

from baton.domain.definition import EVENT_TYPE
from baton.domain.errors import InvalidRequest, MessageTooLarge
from baton.domain.json_values import is_within
from baton.domain.schedules.run_source import CauseKind, RunSource
from baton.domain.tenants.identity import MAX_MESSAGE_ID, is_printable

MAX_DATA_BYTES = 16 * 1024
"""Bytes of an event's data as JSON. All of it is in the prompt."""
MAX_DATA_DEPTH = 32
MAX_DATA_VALUES = 2_000


@dataclass(frozen=True, slots=True)
class IncomingEvent:
    """An event as its sender describes it."""

    id: str
    """The id that its sender has given the event. Two events with one id are the same event."""
    type: str
    text: str
    """The event's data as JSON."""
    hook_id: str = ""
    """The hook by which the event came; empty if a holder of ``event:send`` has sent it."""

    @classmethod
    def parse(cls, event_id: object, event_type: object, data: object, *, hook_id: str = "") -> IncomingEvent:
        """Return an event after checking its fields. Raises ``InvalidRequest`` and ``MessageTooLarge``."""
        if not isinstance(event_id, str) or not is_printable(event_id, MAX_MESSAGE_ID):
            raise InvalidRequest(f"eventId must be 1 to {MAX_MESSAGE_ID} printable characters.")
        if not isinstance(event_type, str) or re.fullmatch(EVENT_TYPE, event_type) is None:
            raise InvalidRequest("type must be 1 to 100 letters, digits and . _ : / -, such as order.shipped.")
        return cls(event_id, event_type, _write_data(data), hook_id)

    @property
    def source(self) -> RunSource:
        """The cause of the event's run."""
        return RunSource(CauseKind.EVENT, self.id, self.type)

    def make_message_id(self, thread_id: str) -> str:
        """Return the id of the message with which the event's run begins. The id makes the run begin only once."""
        return str(uuid.uuid5(uuid.UUID(thread_id), f"event\0{self.hook_id}\0{self.id}"))


def _write_data(data: Any) -> str:
    """Return the data as JSON. Raises ``InvalidRequest`` and ``MessageTooLarge``."""
    if not is_within(data, MAX_DATA_DEPTH, MAX_DATA_VALUES):
        raise InvalidRequest(
            f"data is nested over {MAX_DATA_DEPTH} levels deep, or holds more than {MAX_DATA_VALUES:,} values."
        )
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidRequest("data holds half of a surrogate pair, which is not text.") from None
    except ValueError:
        raise InvalidRequest("data holds a number that JSON cannot represent.") from None
    if size > MAX_DATA_BYTES:
        raise MessageTooLarge(f"data must be at most {MAX_DATA_BYTES // 1024} KB of JSON.")
    return text
