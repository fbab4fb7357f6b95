"""The names of metrics, and functions that count: caught failures, turns with their tokens and times, and ratings."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum


class Metric(StrEnum):
    """A CloudWatch metric of the whole stack. Metrics by tenant or conversation would each cost money."""

    TURNS = "Turns"
    """Runs that have ended, with or without an answer."""
    TIME_IN_QUEUE = "TimeInQueue"
    """Milliseconds from the sending of a message over WebSocket to its first delivery to a worker."""
    TIME_TO_FIRST_TOKEN = "TimeToFirstToken"  # noqa: S105 - no token of a person
    """Milliseconds from a question to the first word of its answer."""
    INPUT_TOKENS = "InputTokens"
    """Input tokens of runs that have ended."""
    OUTPUT_TOKENS = "OutputTokens"
    """Output tokens of runs that have ended."""
    INTERNAL_FAULTS = "InternalFaults"
    """Unexpected exceptions that callers got as an internal error, or that kept a push notification from being sent."""
    REQUESTS_FAILED = "RequestsFailed"
    """Frames, streams and requests that were answered with a 5xx error."""
    MODEL_ERRORS_ANSWERED = "ModelErrorsAnswered"
    """HTTP requests answered with a 502 because the model cannot answer at the moment. API Gateway counts them too."""
    CONNECTIONS_REFUSED = "ConnectionsRefused"
    """WebSocket connections without a valid token. Lambda counts each as an error of the authorizer."""
    TOKENS_REFUSED = "TokensRefused"
    """Refused tokens. Many at once indicate a key that changed too early, or an attack."""
    KEYS_UNREADABLE = "KeysUnreadable"
    """Keys and other secrets that could not be read or used. Older ones may still be in use."""
    SETTINGS_UNREADABLE = "SettingsUnreadable"
    """Failed reads of the settings document, and reads of invalid ones. The last valid document stays in use."""
    QUEUED_TURNS_FAILED = "QueuedTurnsFailed"
    """Deliveries of a queued turn that ended with an exception. The queue delivers it again."""
    TURNS_INTERRUPTED = "TurnsInterrupted"
    """Runs that ended as interrupted: at their last attempt, or after the last delivery."""
    RUNS_NOT_STOPPED = "RunsNotStopped"
    """Runs that may continue though their client has left or cancelled them."""
    TURNS_TIMED_OUT = "TurnsTimedOut"
    """Runs that were stopped at their time limit."""
    DEAD_TURNS_FAILED = "DeadTurnsFailed"
    """Deliveries of a dead turn that could not be ended."""
    MODEL_FAILURES = "ModelFailures"
    """Runs without an answer because the model failed, handoffs undone for that, and handoff summaries not written."""
    SUMMARIES_FAILED = "SummariesFailed"
    """Summaries of message histories that could not be queued or written. A later turn asks for them again."""
    TITLES_FAILED = "TitlesFailed"
    """Titles that could not be queued or written. A later turn tries again, or the user's words become the title."""
    ANSWERS_RATED_UP = "AnswersRatedUp"
    """Answers that users have rated with thumbs up."""
    ANSWERS_RATED_DOWN = "AnswersRatedDown"
    """Answers that users have rated with thumbs down."""
    ANSWERS_DISCARDED = "AnswersDiscarded"
    """Answers to a message that was sent twice, which were begun and stopped. Their tokens are charged to nobody."""
    MODEL_CALLS_FAILED = "ModelCallsFailed"
    """Failed calls of a model. Most are repeated."""
    ATTACHMENTS_UNREAD = "AttachmentsUnread"
    """Documents in messages whose reading took too long, or whose process ended or could not be started."""
    DOCUMENTS_UNREAD = "DocumentsUnread"
    """Steps of ingestion whose document took too long, or whose process ended or could not be started."""
    MODEL_FACTS_LEARNED = "ModelFactsLearned"
    """Facts learned from a model's refusals. Each process learns them again unless the operator declares them."""
    MODEL_FALLBACKS = "ModelFallbacks"
    """Calls that continued with a fallback model, because the model before it could not answer."""
    AGENTS_UNREADABLE = "AgentsUnreadable"
    """Reads of tenants' own agents that failed, where an older copy was used, and agents that could not be used."""
    TOOL_FAILURES = "ToolFailures"
    """Failed calls and sources of external tools. The turn continues."""
    GUARDRAIL_REFUSALS = "GuardrailRefusals"
    """Refusals by hooks and guardrails of agents, also of those that failed and count as refusals."""
    GUARDRAIL_FAILURES = "GuardrailFailures"
    """Hooks and guardrails that failed or did not answer in time."""
    AGENT_FAILURES = "AgentFailures"
    """Failed requests to remote agents, requests that were not sent, and files of answers that were not kept."""
    NOTIFICATIONS_NOT_QUEUED = "NotificationsNotQueued"
    """Changes of conversations that could not be queued. Clients of A2A tasks and webhooks are not notified."""
    NOTIFICATIONS_FAILED = "NotificationsFailed"
    """Push notifications of A2A tasks that were given up: the receiver refused them, or did not answer for too long."""
    WEBHOOKS_DEAD = "WebhooksDead"
    """Deliveries of events to webhooks that were given up after a day, or that the receiver refused for good."""
    TIME_TO_PERSON = "TimeToPerson"
    """Milliseconds from the arrival of a conversation at a desk until a person has taken it."""
    DESKS_LEFT = "DesksLeft"
    """Conversations that people have handed back, or that their users have left or closed."""
    DESKS_MISSED = "DesksMissed"
    """Conversations that have returned from a desk because nobody took or answered them in time."""
    TIME_TO_START = "TimeToStart"
    """Milliseconds from the time of a schedule until its run is queued."""
    RUNS_LATE = "RunsLate"
    """Runs of schedules that were queued a minute or more after their time."""
    RUNS_DROPPED = "RunsDropped"
    """Runs due to begin by themselves that were refused for good or had to wait for too long."""
    SEARCHES_FAILED = "SearchesFailed"
    """Requests to the search engine that failed."""
    RECALLS_INCOMPLETE = "RecallsIncomplete"
    """Embeddings and retrievals that failed or were late. The turn continues without their results."""
    CONTEXTS_NOT_KEPT = "ContextsNotKept"
    """Inspector records of turns that could not be stored."""
    SKILLS_NOT_PUBLISHED = "SkillsNotPublished"
    """Finished skills that were no longer valid when they were published."""
    CAPTURES_NOT_STARTED = "CapturesNotStarted"
    """Completed tasks whose state machine did not start. The closing of the session starts it later."""
    CAPTURES_FAILED = "CapturesFailed"
    """Captures of procedures that failed permanently. The closing of the session starts them once more."""
    USES_NOT_COUNTED = "UsesNotCounted"
    """Runs that followed a procedure and could not be counted. The closing of the session counts them."""
    FRAMES_GIVEN_UP = "FramesGivenUp"
    """Frames that API Gateway did not accept in time."""
    FRAMES_REFUSED = "FramesRefused"
    """Frames that were not sent because API Gateway refused them or sending failed, though the client had not gone."""
    RECORDS_NOT_HIDDEN = "RecordsNotHidden"
    """Failed renewals of a queue record's invisibility. Another worker may get the record too early."""
    CLOSINGS_NOT_STARTED = "ClosingsNotStarted"
    """Ended sessions whose state machine did not start. The sweeper starts it later."""
    EPISODES_INCOMPLETE = "EpisodesIncomplete"
    """Runs of the closing pipeline that left an episode without its summary, its facts or its place in the index."""
    DOCUMENTS_FAILED = "DocumentsFailed"
    """Versions of documents that could not be processed although their content is not at fault."""
    RUNS_NOT_ADMITTED = "RunsNotAdmitted"
    """Ends of background runs after which the next one did not begin. The sweeper begins it later."""
    AUDIT_RECORDS_LOST = "AuditRecordsLost"
    """Audit records that could not be written."""
    SOURCE_FAILURES = "SourceFailures"
    """Sources whose refresh broke off by a fault."""
    SWEEPS_FAILED = "SweepsFailed"
    """Sweeps of due conversations, or of due runs, that failed as a whole. The sweeper's other jobs were done."""
    DOCUMENT_RESUMES_FAILED = "DocumentResumesFailed"
    """Sweeps that could not look for documents whose ingestion has stopped."""
    ADMISSIONS_FAILED = "AdmissionsFailed"
    """Sweeps that could not begin the waiting runs of pipelines."""
    RETENTIONS_FAILED = "RetentionsFailed"
    """Sweeps that could not start the removals that retention requires, for all tenants or some."""
    SWEEP_FAILURES = "SweepFailures"
    """Conversations, documents and due runs that could not be checked or begun. They are tried again."""
    SWEEPS_UNFINISHED = "SweepsUnfinished"
    """Sweeps that left due conversations or documents to the next one."""
    RATES_NOT_COUNTED = "RatesNotCounted"
    """Runs and other work that rates do not count: the item of the counts is too large, or others always change it."""
    SPENDING_NOT_COUNTED = "SpendingNotCounted"
    """Calls of models that were not made because they could not be counted, and costs that were not stored."""
    SPENDING_WARNINGS = "SpendingWarnings"
    """Limits of spending that reached their warning level for the first time in their period."""
    SEARCH_INDEX_FILL = "SearchIndexFill"
    """The percentage of an owner's space in the embedded index that is used after a write."""
    SPANS_DROPPED = "SpansDropped"
    """Spans of traces that the collector refused, or for which the buffer had no room. Turns do not wait for spans."""


TIMES = frozenset({Metric.TIME_IN_QUEUE, Metric.TIME_TO_FIRST_TOKEN, Metric.TIME_TO_PERSON, Metric.TIME_TO_START})
"""Metrics that are times in milliseconds."""
PERCENTAGES = frozenset({Metric.SEARCH_INDEX_FILL})
_SINGLE = TIMES | PERCENTAGES
"""Metrics whose values are written one by one, because a sum would hide the largest. All others are sums."""
WriteCounts = Callable[[Mapping[Metric, int | Sequence[int]]], None]
"""Writes sums, and lists of the values of metrics in ``_SINGLE``."""


class Counts:
    """The counts and values of one invocation, written when it ends. Later counts are written at once. Thread-safe."""

    def __init__(self, write: WriteCounts) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._numbers: Counter[Metric] = Counter()
        self._values: dict[Metric, list[int]] = {}
        self._is_over = False

    def add(self, metric: Metric, number: int) -> None:
        """Add to a count, or keep a value of a metric in ``_SINGLE``."""
        is_single = metric in _SINGLE
        with self._lock:
            if not self._is_over:
                if is_single:
                    self._values.setdefault(metric, []).append(number)
                else:
                    self._numbers[metric] += number
                return
        self._write({metric: [number] if is_single else number})

    def end(self) -> None:
        """Write the counts and values, if there are any."""
        with self._lock:
            self._is_over = True
        if self._numbers or self._values:
            self._write({**self._numbers, **self._values})


_current: ContextVar[Counts | None] = ContextVar("counts", default=None)
"""The counts of the current invocation. Its tasks and threads share them."""


def count(metric: Metric, number: int = 1) -> None:
    """Count for the current invocation, or keep a time or percentage. Outside an invocation the call does nothing."""
    counts = _current.get()
    if counts is not None:
        counts.add(metric, number)


@contextmanager
def collect_counts(write: WriteCounts) -> Iterator[None]:
    """Collect the counts and values of the block and pass them to ``write`` at its end, even after an exception."""
    counts = Counts(write)
    token = _current.set(counts)
    try:
        yield
    finally:
        _current.reset(token)
        counts.end()


@contextmanager
def count_failures(metric: Metric, *, but: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Count an exception that leaves the block, except those in ``but``, and raise it again."""
    try:
        yield
    except but:
        raise
    except Exception:
        count(metric)
        raise
