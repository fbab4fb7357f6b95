"""WebSocket frames: what is ready at the same moment travels together, as one JSON array."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from baton.domain.events import MAX_FRAME_BYTES, Event


@dataclass(frozen=True, slots=True)
class EncodedEvent:
    """An event as JSON, or one slice of an event that is too large for a frame."""

    text: str
    size: int
    """Bytes of the text."""
    is_slice: bool = False


def encoded(events: Iterable[Event]) -> list[EncodedEvent]:
    """The events as JSON, in order; one encoding serves every connection."""
    found: list[EncodedEvent] = []
    for event in events:
        frames = event.frames()
        found += [EncodedEvent(frame, len(frame.encode()), is_slice=len(frames) > 1) for frame in frames]
    return found


class FrameQueue:
    """What waits for one connection, given out as frames of as many events as fit.

    One event is an object, several are an array. A slice of an event is a frame of its own: clients join slices before
    they parse them.
    """

    def __init__(self) -> None:
        self._events: deque[EncodedEvent] = deque()
        self.size = 0
        """Bytes that wait."""

    def __bool__(self) -> bool:
        return bool(self._events)

    def add(self, events: Sequence[EncodedEvent]) -> None:
        """Put the events behind those that wait."""
        self._events.extend(events)
        self.size += sum(event.size for event in events)

    def next_frame(self) -> tuple[str, int]:
        """The next frame and the number of events in it, which stay until ``remove`` is called; there must be some."""
        texts: list[str] = []
        size = len("[]")
        for event in self._events:
            size += event.size + len(",")
            if texts and (event.is_slice or size > MAX_FRAME_BYTES):
                break
            texts.append(event.text)
            if event.is_slice:
                break
        return (texts[0] if len(texts) == 1 else f"[{','.join(texts)}]"), len(texts)

    def remove(self, count: int) -> None:
        """Forget the first ``count`` events: the connection has taken them."""
        for _ in range(count):
            self.size -= self._events.popleft().size


def frames(events: Iterable[Event]) -> Iterator[str]:
    """The events as frames, in order. They are encoded as the frames are taken: a long replay keeps nobody waiting."""
    queue = FrameQueue()
    for event in events:
        queue.add(encoded([event]))
        while queue.size > MAX_FRAME_BYTES:
            yield _taken(queue)
    while queue:
        yield _taken(queue)


def _taken(queue: FrameQueue) -> str:
    frame, count = queue.next_frame()
    queue.remove(count)
    return frame
