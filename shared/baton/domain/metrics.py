"""What operators are to hear of although nobody else does: failures that were caught, counted by invocation."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum


class Metric(StrEnum):
    """A count in CloudWatch, of a whole stack: never of a tenant or a conversation, each of which would be paid for."""

    INTERNAL_FAULTS = "InternalFaults"
    """Exceptions nobody expected, in whose place somebody was told of an internal error."""
    REQUESTS_FAILED = "RequestsFailed"
    """Frames, streams and requests that were answered with an error of the 5xx kind."""
    CONNECTIONS_REFUSED = "ConnectionsRefused"
    """WebSocket connections without a valid token: each is an error of the authorizer to Lambda, and none to us."""
    TOKENS_REFUSED = "TokensRefused"
    """Tokens that were refused, at any door: many at once are a key that changed too early, or an attack."""
    KEYS_UNREADABLE = "KeysUnreadable"
    """Issuers' and hosts' keys, or other secrets, that could not be read or used; older ones may serve on."""
    QUEUED_TURNS_FAILED = "QueuedTurnsFailed"
    """Deliveries of a queued turn that ended with an exception; it comes again."""
    TURNS_INTERRUPTED = "TurnsInterrupted"
    """Runs that were given up: at their last attempt, or after the last delivery."""
    TURNS_TIMED_OUT = "TurnsTimedOut"
    """Runs that were stopped because their time was over."""
    DEAD_TURNS_FAILED = "DeadTurnsFailed"
    """Deliveries of a dead turn that could not be ended."""
    MODEL_FAILURES = "ModelFailures"
    """Runs that ended without an answer because of the model, and summaries that it did not make."""
    MODEL_CALLS_FAILED = "ModelCallsFailed"
    """Single calls of a model that failed; most are repeated."""
    TOOL_FAILURES = "ToolFailures"
    """Calls and sources of tools that failed outside Baton; the turn goes on."""
    AGENT_FAILURES = "AgentFailures"
    """Remote agents that failed or could not be asked."""
    SKILLS_NOT_PUBLISHED = "SkillsNotPublished"
    """Skills that were finished by their users and are not valid any more."""
    FRAMES_GIVEN_UP = "FramesGivenUp"
    """Answers to single clients that API Gateway would not take in time."""
    RECORDS_NOT_HIDDEN = "RecordsNotHidden"
    """Renewals of a queue record's invisibility that failed: another worker may take it too early."""
    CLOSINGS_NOT_STARTED = "ClosingsNotStarted"
    """Ended sessions whose state machine did not start; the sweeper starts it later."""
    AUDIT_RECORDS_LOST = "AuditRecordsLost"
    """Audit records that could not be written."""
    SWEEP_FAILURES = "SweepFailures"
    """Conversations that the sweeper could not look at; they are put off."""
    SWEEPS_UNFINISHED = "SweepsUnfinished"
    """Sweeps that left due conversations to the next one."""


Tell = Callable[[Mapping[Metric, int]], None]


class Counts:
    """The counts of one invocation, told together when it ends; what is counted later is told at once. Thread-safe."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._numbers: Counter[Metric] = Counter()
        self._is_over = False

    def add(self, metric: Metric, number: int) -> None:
        with self._lock:
            if not self._is_over:
                self._numbers[metric] += number
                return
        self._tell({metric: number})

    def end(self) -> None:
        """Tell what was counted, if anything was."""
        with self._lock:
            self._is_over = True
        if self._numbers:
            self._tell(dict(self._numbers))


_current: ContextVar[Counts | None] = ContextVar("counts", default=None)
"""Not the process's: the invocation's. Tasks and threads begun by it count into the same one."""


def count(metric: Metric, number: int = 1) -> None:
    """Count for the invocation in progress; outside of one nobody would hear of it."""
    counts = _current.get()
    if counts is not None:
        counts.add(metric, number)


@contextmanager
def counting(tell: Tell) -> Iterator[None]:
    """Count what happens inside, and ``tell`` it at the end, failed or not."""
    counts = Counts(tell)
    token = _current.set(counts)
    try:
        yield
    finally:
        _current.reset(token)
        counts.end()


@contextmanager
def failures_counted(metric: Metric, *, but: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Count an exception on its way through, except those that are no failures."""
    try:
        yield
    except but:
        raise
    except Exception:
        count(metric)
        raise
