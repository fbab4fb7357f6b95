"""Branches of a thread: the rules by which some of its messages form the current conversation.

Messages are stored in the order in which they were said, and never removed. A branch begins at the thread's pointer and
continues from an earlier message, so the messages form a tree, and the conversation is the path from the root to the
newest message of the selected branch. The tree is stored as segments: ranges of ordinals in which every message
continues from the message before it. A thread without branches stores none.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from baton.domain.errors import BranchUnavailable, TooManyBranches

ROOT = -1
"""The ``parent`` of a segment that begins the conversation again from its start."""
MAX_SEGMENTS = 100
"""Segments of one thread. The thread's item holds them, and every turn writes that item."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Messages that follow each other, up to the start of the next segment."""

    start: int
    """The ordinal of its first message. If it equals the thread's pointer, the next message begins the segment."""
    parent: int
    """The ordinal of the message from which it continues, or ``ROOT``."""


Segments = tuple[Segment, ...]
"""All segments but the first, which begins at 0, in the order of their starts."""


@dataclass(frozen=True, slots=True)
class BranchRequest:
    """A client's request for another answer to a user message, or for another message in its place."""

    from_id: str
    """The id of the user message, as clients see it."""
    is_regenerate: bool
    """Whether the message is answered again. Otherwise the request's content replaces it."""


@dataclass(frozen=True, slots=True)
class BranchStart:
    """The request for a branch, as the first message of the branch stores it."""

    from_id: str
    """The id of the message that it replaces or repeats, as clients see it."""
    is_regenerate: bool
    """Whether it repeats that message, to have it answered again."""
    after_id: str | None = None
    """The last message that clients show before it; None if it begins the conversation again from its start."""
    wished_id: str | None = None
    """The id in the request, if it differs from ``from_id``. A worker that takes over compares the requests."""

    @property
    def request(self) -> BranchRequest:
        """The client's request that has led to the branch."""
        return BranchRequest(self.wished_id or self.from_id, self.is_regenerate)

    def to_response(self, ordinal: int) -> dict[str, Any]:
        """Return the branch that begins at ``ordinal``, as clients see it."""
        return {
            "branchId": make_branch_id(ordinal),
            "from": self.from_id,
            "regenerate": self.is_regenerate,
            "after": self.after_id,
        }


def make_branch_id(ordinal: int) -> str:
    """Return the id of the branch that begins with the message ``ordinal``."""
    return f"b{ordinal}"


@dataclass(frozen=True, slots=True)
class MessagePath:
    """The messages of one conversation: ranges of ordinals, in order, each as its first ordinal and its end."""

    ranges: tuple[tuple[int, int], ...]

    def __contains__(self, ordinal: int) -> bool:
        index = bisect_right(self.ranges, ordinal, key=lambda bounds: bounds[0]) - 1
        return index >= 0 and ordinal < self.ranges[index][1]

    def cut(self, top: int, first: int = 0) -> MessagePath:
        """Return the part of the path from the ordinal ``first`` up to ``top``, which is excluded."""
        ranges = ((max(start, first), min(end, top)) for start, end in self.ranges)
        return MessagePath(tuple((start, end) for start, end in ranges if start < end))

    @property
    def last(self) -> int:
        """The ordinal of its last message, or ``ROOT``."""
        return max((end - 1 for start, end in self.ranges if start < end), default=ROOT)

    @property
    def length(self) -> int:
        """The number of its messages."""
        return sum(end - start for start, end in self.ranges)

    def find_previous(self, ordinal: int) -> int:
        """Return the ordinal of the message before ``ordinal`` in the path, or ``ROOT``."""
        return self.cut(ordinal).last


def find_path(segments: Segments, next_ordinal: int) -> MessagePath:
    """Return the path that the next message, at the pointer ``next_ordinal``, continues."""
    ranges: list[tuple[int, int]] = []
    end, remaining = next_ordinal, len(segments)
    while end > 0:
        start = segments[remaining - 1].start if remaining else 0
        if start < end:
            ranges.append((start, end))
        if not remaining:
            break
        end = segments[remaining - 1].parent + 1
        # A parent lies in an earlier segment.
        while remaining and segments[remaining - 1].start >= end:
            remaining -= 1
    return MessagePath(tuple(reversed(ranges)))


def continue_from(segments: Segments, next_ordinal: int, parent: int) -> Segments:
    """Return the segments with which the next message, at the pointer, continues from the message ``parent``."""
    earlier = segments[:-1] if segments and segments[-1].start == next_ordinal else segments
    if parent == next_ordinal - 1:
        return earlier
    return (*earlier, Segment(next_ordinal, parent))


def check_room(segments: Segments, next_ordinal: int) -> None:
    """Raise ``TooManyBranches`` if the thread has as many segments as its item may hold.

    A selected branch has its segment before its next message is sent, so an existing conversation can always continue.
    """
    if len([segment for segment in segments if segment.start < next_ordinal]) >= MAX_SEGMENTS:
        raise TooManyBranches


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of several messages that continue from the same message."""

    ordinal: int
    """The ordinal of its first message."""
    parent: int
    """The ordinal of the message from which it continues, or ``ROOT``."""

    @property
    def id(self) -> str:
        """The id of the branch that begins with it."""
        return make_branch_id(self.ordinal)


def list_alternatives(segments: Segments, next_ordinal: int) -> list[Alternative]:
    """Return every message that has alternatives, by ordinal. The original message of each branch point is included."""
    earlier = [segment for segment in segments if segment.start < next_ordinal]
    starts = {segment.start for segment in earlier}
    children: dict[int, set[int]] = {}
    for segment in earlier:
        children.setdefault(segment.parent, set()).add(segment.start)
    for parent, firsts in children.items():
        following = parent + 1
        if following < next_ordinal and following not in starts:
            firsts.add(following)
    branches = [
        Alternative(ordinal, parent) for parent, firsts in children.items() if len(firsts) > 1 for ordinal in firsts
    ]
    return sorted(branches, key=lambda alternative: alternative.ordinal)


def find_branch(segments: Segments, next_ordinal: int, branch_id: str) -> Alternative:
    """Return the alternative with this id. Raises ``BranchUnavailable``."""
    branches = (alternative for alternative in list_alternatives(segments, next_ordinal) if alternative.id == branch_id)
    alternative = next(branches, None)
    if alternative is None:
        raise BranchUnavailable
    return alternative


def find_tip(segments: Segments, next_ordinal: int, alternative: Alternative) -> int:
    """Return the ordinal of the newest message of a branch."""
    for last in _list_last_messages(segments, next_ordinal):
        if alternative.ordinal in find_path(continue_from(segments, next_ordinal, last), next_ordinal):
            return last
    return alternative.ordinal


def _list_last_messages(segments: Sequence[Segment], next_ordinal: int) -> Iterator[int]:
    """Yield the last message of each segment, the newest first."""
    end = next_ordinal
    for segment in (*reversed(segments), Segment(0, ROOT)):
        if segment.start < end:
            yield end - 1
            end = segment.start
