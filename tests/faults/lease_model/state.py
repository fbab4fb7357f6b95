"""The lease protocol as a small model: everything that is stored, and everything a worker remembers between steps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, auto
from typing import NamedTuple

FENCE_STEP = 2
"""The difference between the fence that a lease finds and its own; that of a delivery is one."""
RESERVED = 4
"""Sequence numbers a lease reserves; a run uses three of them."""
MAX_ATTEMPTS = 3
NOBODY = -1
"""In place of a message: a worker that came for no message, an event that belongs to no run."""


@dataclass(frozen=True)
class Rules:
    """The guards of the protocol. Each can be taken away, to prove that the exploration would notice."""

    fenced_messages: bool = True
    fenced_turns: bool = True
    fenced_commit: bool = True
    """Only the holder of the highest fence commits."""
    turn_opened_once: bool = True
    """``TURN#`` is created only where there is none; what is there is looked at."""
    done_check: bool = True
    """A message that was answered before is not answered again."""
    orphan_first: bool = True
    """A run that a dead worker began is finished before another message's."""
    takeover_counts: bool = True
    """Every takeover is one more attempt."""
    numbers_reserved: bool = True
    """Acquiring moves the next sequence number beyond what the lease may use."""
    jump_announced: bool = True
    """RUN_STARTED says from where clients drop, when its number does not follow the last committed one."""
    release_returns_own_numbers: bool = True
    """A release gives back what its own lease reserved, not what dead leases before it did."""
    adoption_needs_same_writer: bool = True
    """An answer is adopted only if anybody who claimed ``TURN#`` last wrote it."""
    adoption_needs_nobody_between: bool = True
    """... and only by the very next holder of the lease."""
    dead_pieces_ignored: bool = True
    """Readers of the log pass over pieces beyond the last committed number that no living run wrote."""
    digest_before_writing: bool = True
    """A takeover compares the content with ``TURN#`` before it writes a question."""
    delivery_writes_once: bool = True
    """Of two deliveries with one fence, only the first writes the message."""
    delivery_commits_what_it_read: bool = True
    """A delivery commits only if there is no lease, even one that has run out, and no commit since it read."""


class Turn(NamedTuple):
    """``TURN#``; ``digest`` stands for the content."""

    fence: int
    attempt: int
    ordinal: int
    digest: int


class Msg(NamedTuple):
    """``MSG#``: a question (``first`` is 0), or the last message of a run, with where its events are."""

    fence: int
    message: int
    attempt: int
    digest: int
    is_answer: bool
    writer: int = 0
    """The fence under which it was first said."""
    first: int = 0
    logged: int = 0
    """The last number that is in the log; the rest are in this message."""
    last: int = 0
    previous: int = 0
    """``previousSeq`` of its RUN_STARTED, or NOBODY."""


class Piece(NamedTuple):
    """``LOG#``."""

    first: int
    fence: int
    message: int
    last: int
    previous: int


class Posted(NamedTuple):
    """The last event that a connected client has seen of a run, and the last committed one it knew before that run."""

    seq: int
    first: int
    message: int
    writer: int
    base: int


class Thread(NamedTuple):
    """``THREAD``."""

    fence: int = 0
    held: bool = False
    """Whether there is a lease (its holder is the highest fence)."""
    alive: bool = False
    """Whether its time has not run out."""
    pointer: int = 0
    last: int = 0
    next: int = 1
    run: int = NOBODY
    attempt: int = 0
    closed: bool = False


class Pc(IntEnum):
    """The next step of a worker."""

    READ = auto()
    DELIVER_TURN = auto()
    DELIVER = auto()
    DELIVER_COMMIT = auto()
    ACQUIRE = auto()
    ORPHAN_TURN = auto()
    ORPHAN_QUESTION = auto()
    BEGIN_RUN = auto()
    TAKE_OVER = auto()
    COMPARE = auto()
    OPEN = auto()
    CHECK = auto()
    ADOPT = auto()
    ADOPT_COMMIT = auto()
    REOPEN = auto()
    STREAM = auto()
    END = auto()
    COMMIT = auto()
    CLOSE_LOG = auto()
    CLOSE = auto()
    RELEASE = auto()
    ABANDON = auto()
    DONE = auto()


class Kind(IntEnum):
    """The message of a worker."""

    MESSAGE = auto()
    DELIVERY = auto()
    """A message to people, which needs no model, and tries to do without a lease that others see."""
    CLOSE = auto()
    FINISH = auto()
    """A resume or the sweeper: finish whatever a dead worker left."""


class Worker(NamedTuple):
    """One delivery, and what it remembers. One that never takes another step has crashed, or is a zombie later."""

    kind: Kind
    message: int
    digest: int = 0
    pc: Pc = Pc.ACQUIRE
    fence: int = 0
    first: int = 0
    pointer: int = 0
    last: int = 0
    attempt: int = 0
    closed: bool = False
    target: int = NOBODY
    """The message whose run it carries out: its own or an orphan's."""
    content: int = 0
    """The digest of that message's content."""
    known_turn: Turn | None = None
    found_message: Msg | None = None
    open_left: tuple[bool, bool] = (True, True)
    """The writes of TURN and question that open a run and are still on their way."""
    lost: bool = False
    logged: int = 0


class State(NamedTuple):
    """A state of the model."""

    workers: tuple[Worker, ...]
    thread: Thread = Thread()
    turns: tuple[Turn | None, ...] = (None, None)
    messages: tuple[Msg | None, ...] = (None,) * 12
    log: tuple[Piece, ...] = ()
    committed: tuple[Msg, ...] = ()
    """The committed contents, as they were then (the fence left out)."""
    closings: tuple[tuple[int, int], ...] = ()
    """Sequence number and fence of each ``thread_closed``."""
    posted: frozenset[Posted] = frozenset()

    @property
    def stored(self) -> State:
        """The state without its workers: all that is left when every one of them dies."""
        return self._replace(workers=())
