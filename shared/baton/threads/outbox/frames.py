"""WebSocket frames: events that are ready at the same time share a frame, as one JSON array."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from baton.domain.threads.events import MAX_FRAME_BYTES, Event


@dataclass(frozen=True, slots=True)
class EncodedEvent:
    """An event as JSON, or one slice of an event that is too large for a frame."""

    text: str
    size: int
    """Size of the text in bytes."""
    is_slice: bool = False


def encode_events(events: Iterable[Event]) -> list[EncodedEvent]:
    """Return the events as JSON, in order, a large one as several slices. One encoding serves all connections."""
    encoded_events: list[EncodedEvent] = []
    for event in events:
        frames = event.split_into_frames()
        encoded_events += [EncodedEvent(frame, len(frame.encode()), is_slice=len(frames) > 1) for frame in frames]
    return encoded_events


class FrameQueue:
    """The events that wait for one connection, joined into frames of as many events as fit.

    A frame with one event is an object, a frame with several events is an array. A slice of an event has its own
    frame, because clients join slices before they parse them.
    """

    def __init__(self) -> None:
        self._events: deque[EncodedEvent] = deque()
        self.size = 0
        """Size of the waiting events in bytes."""

    def __bool__(self) -> bool:
        return bool(self._events)

    def add(self, events: Sequence[EncodedEvent]) -> None:
        """Append the events to the queue."""
        self._events.extend(events)
        self.size += sum(event.size for event in events)

    def build_next_frame(self) -> tuple[str, int]:
        """Return the next frame and the number of events in it. The queue must not be empty.

        The events stay in the queue until ``remove`` is called.
        """
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
        """Remove the first ``count`` events, which the connection has taken."""
        for _ in range(count):
            self.size -= self._events.popleft().size


def yield_frames(events: Iterable[Event]) -> Iterator[str]:
    """Yield the events as frames, in order.

    Each event is encoded only when its frame is needed, so that a long replay does not block other work.
    """
    queue = FrameQueue()
    for event in events:
        queue.add(encode_events([event]))
        while queue.size > MAX_FRAME_BYTES:
            yield _take_frame(queue)
    while queue:
        yield _take_frame(queue)


def _take_frame(queue: FrameQueue) -> str:
    frame, count = queue.build_next_frame()
    queue.remove(count)
    return frame
