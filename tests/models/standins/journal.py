"""Requests that a stand-in received and refused, and the faults that its next requests meet."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.models.standins.question import Json

MAX_KEPT = 1000
"""Requests that a journal keeps, so that a stand-in can run for days."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer with an error status."""

    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Received:
    """A request and what became of it."""

    who: str
    """The dialect or the model id of the path."""
    path: str
    headers: dict[str, str]
    body: Any
    refusal: Refusal | None = None
    ignored: list[str] = field(default_factory=list)
    """Paths of fields that the endpoint drops without a word."""
    hung_up: bool = False
    """True if the client left before the answer was complete."""

    @property
    def summary(self) -> Json:
        """The request as JSON, for the list that a running stand-in shows."""
        refused = self.refusal and {"status": self.refusal.status, "body": self.refusal.body}
        return {"who": self.who, "path": self.path, "body": self.body, "refused": refused, "ignored": self.ignored}


@dataclass(frozen=True, slots=True)
class Fault:
    """The fault of one request that is valid."""

    status: int = 0
    """Refuse with this status, with ``body`` and ``headers``."""
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    after: int = 0
    """Events that are still delivered before the rest happens."""
    then: str = ""
    """``drop``: cut the connection. ``end``: end the stream too early. ``silence``: send comments only, for ever.
    ``hang``: send nothing more. ``event``: send ``event`` and end. ``insert``: send ``event`` and go on."""
    event: Any = None
    """An event's JSON; for Bedrock the name of an exception, or a JSON object with an unknown event."""
    crc: bool = False
    """Bedrock: break the checksum of the frame after ``after``."""
    piece: int = 0
    """Bytes of each write, so that events arrive in parts."""


class Journal:
    """The requests of all stand-ins of one server. Safe to read from other threads than the server's."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self._faults: deque[tuple[str, Fault]] = deque()
        self._changed = threading.Condition()

    def fail(self, *faults: Fault, who: str = "") -> None:
        """Let the next valid requests to ``who``, or to anyone, meet ``faults``, one each."""
        self._faults.extend((who, fault) for fault in faults)

    def add(self, received: Received) -> Received:
        """Keep a request."""
        with self._changed:
            self.requests.append(received)
            del self.requests[:-MAX_KEPT]
            self._changed.notify_all()
        return received

    def hang_up(self, received: Received) -> None:
        """Note that the client left."""
        with self._changed:
            received.hung_up = True
            self._changed.notify_all()

    def fault(self, who: str) -> Fault | None:
        """Take the fault that a request to ``who`` meets."""
        for position, (whose, fault) in enumerate(self._faults):
            if whose in ("", who):
                del self._faults[position]
                return fault
        return None

    def of(self, *whose: str) -> list[Received]:
        """Return the requests to these dialects or models, oldest first."""
        return [received for received in self.requests if received.who in whose]

    @property
    def refused(self) -> list[Received]:
        """The requests that a rule refused; faults that were asked for are not among them."""
        return [received for received in self.requests if received.refusal]

    def reset(self) -> None:
        """Forget all requests and faults."""
        self.requests.clear()
        self.forget_faults()

    def forget_faults(self) -> None:
        """Let no further request meet a fault."""
        self._faults.clear()

    def wait_for_request(self, seconds: float = 10) -> bool:
        """Wait in this thread until there is a request; returns False after ``seconds``."""
        with self._changed:
            return self._changed.wait_for(lambda: bool(self.requests), seconds)

    def wait_for_hangup(self, seconds: float = 10) -> bool:
        """Wait in this thread until a client has left; returns False after ``seconds``."""
        with self._changed:
            return self._changed.wait_for(lambda: any(request.hung_up for request in self.requests), seconds)


def newest(requests: Iterable[Received], count: int = 20) -> list[Json]:
    """Return the last ``count`` requests as JSON, newest first."""
    return [received.summary for received in list(requests)[: -count - 1 : -1]]
