"""Sending spans to a collector: in the background, with bounds on memory and time, and a count of dropped spans."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from aws_lambda_powertools import Logger
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

logger = Logger(child=True)

MAX_WAITING = 4_096
"""The maximum number of spans that wait or are being sent. Further spans are dropped. A turn has about ten."""
MAX_WAITING_WITH_CONTENT = 256
"""The maximum number if spans have content, which may make them a thousand times larger."""
BATCH = 256
"""The maximum number of spans of a request."""
DELAY_SECONDS = 1.0
"""Seconds between two batches."""
REQUEST_SECONDS = 3.0
"""The time limit of a request with its repetitions. Only the sending thread waits for it."""
REST_SECONDS = 30.0
"""Seconds after a failed request in which spans are dropped, so that nothing waits for a dead collector."""


class SpansDropped:
    """The number of spans that were dropped since the last ``take``. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0

    def add(self, number: int) -> None:
        """Count dropped spans."""
        with self._lock:
            self._number += number

    def take(self) -> int:
        """Return the number, and begin again at 0."""
        with self._lock:
            number, self._number = self._number, 0
            return number


class RestingExporter(SpanExporter):
    """An exporter of spans over OTLP/HTTP, which drops them for ``REST_SECONDS`` after a failure.

    A failure is logged. The headers are read before the first request and after each failure, so that a changed secret
    is used.
    """

    def __init__(
        self,
        endpoint: str,
        headers: Callable[[], Mapping[str, str]],
        dropped: SpansDropped,
        *,
        seconds: float = REQUEST_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``endpoint`` is the complete address, with ``/v1/traces``. ``headers`` may block and raise any error.

        ``seconds`` is the time limit of a request with its repetitions.
        """
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # it logs each failure, with the address
        self._endpoint = endpoint
        self._headers = headers
        self._dropped = dropped
        self._seconds = seconds
        self._monotonic = monotonic
        self._exporter: OTLPSpanExporter | None = None
        self._rests_until = 0.0

    @property
    def is_resting(self) -> bool:
        """Whether spans are dropped at once, because a request has failed."""
        return self._monotonic() < self._rests_until

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send the spans. Blocks for some seconds at most, and raises nothing."""
        if not self.is_resting and self._send(spans):
            return SpanExportResult.SUCCESS
        self._dropped.add(len(spans))
        return SpanExportResult.FAILURE

    def _send(self, spans: Sequence[ReadableSpan]) -> bool:
        """Send the spans. Return whether the collector took them; otherwise rest, and log the reason."""
        reason = "the collector did not take them"
        try:
            if self._exporter is None:
                self._exporter = OTLPSpanExporter(
                    self._endpoint, headers=dict(self._headers()), timeout=self._seconds, compression=Compression.Gzip
                )
            if self._exporter.export(spans) is SpanExportResult.SUCCESS:
                return True
        except Exception as error:  # noqa: BLE001 - a thread of the SDK would log it with its values
            reason = type(error).__name__
        self._exporter = None
        self._rests_until = self._monotonic() + REST_SECONDS
        logger.warning("traces not sent", reason=reason, spans=len(spans), seconds=REST_SECONDS)
        return False


class BoundedSending(SpanProcessor):
    """A bounded queue in front of the SDK's batches of ended spans. Ending a span never blocks."""

    def __init__(self, exporter: RestingExporter, dropped: SpansDropped, *, max_waiting: int = MAX_WAITING) -> None:
        self._counting_exporter = _CountingExporter(exporter, self._count_sent)
        self._resting_exporter = exporter
        self._dropped = dropped
        self._max_waiting = max_waiting
        self._lock = threading.Lock()
        self._waiting = 0
        """The number of spans that wait or are being sent."""
        self._batches = BatchSpanProcessor(
            self._counting_exporter,
            max_queue_size=max_waiting,
            schedule_delay_millis=DELAY_SECONDS * 1000,
            # A quarter of the queue, so that a small queue is sent before it is full.
            max_export_batch_size=min(BATCH, max(1, max_waiting // 4)),
        )
        self._flushing = threading.Lock()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Do nothing."""

    def on_end(self, span: ReadableSpan) -> None:
        """Queue an ended span, or drop it."""
        with self._lock:
            has_room = self._waiting < self._max_waiting and not self._resting_exporter.is_resting
            if has_room:
                self._waiting += 1
        if has_room:
            self._batches.on_end(span)
        else:
            self._dropped.add(1)

    def flush(self, seconds: float) -> bool:
        """Send the waiting spans, for at most ``seconds``. Return whether all have left the queue.

        The SDK's own flush has no time limit, so it runs in a thread.
        """
        if self._waiting == 0:
            return True
        if self._flushing.acquire(blocking=False):
            try:
                threading.Thread(target=self._send_all, name="baton-traces", daemon=True).start()
            except RuntimeError:  # the process has too many threads; the next flush tries again
                self._flushing.release()
                return False
        deadline = time.monotonic() + seconds
        while self._waiting and (seconds_left := deadline - time.monotonic()) > 0:
            self._counting_exporter.was_sent.wait(seconds_left)
            self._counting_exporter.was_sent.clear()
        return self._waiting == 0

    def _send_all(self) -> None:
        try:
            self._batches.force_flush()
        finally:
            self._flushing.release()

    def _count_sent(self, number: int) -> None:
        with self._lock:
            self._waiting -= number

    def shutdown(self) -> None:
        """Send the waiting spans and end the thread."""
        self._batches.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """See ``flush``."""
        return self.flush(timeout_millis / 1000)


class _CountingExporter(SpanExporter):
    """An exporter that reports how many spans have left the queue, whether or not they were sent."""

    def __init__(self, exporter: SpanExporter, count_sent: Callable[[int], None]) -> None:
        self._exporter = exporter
        self._count_sent = count_sent
        self.was_sent = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            return self._exporter.export(spans)
        finally:
            self._count_sent(len(spans))
            self.was_sent.set()

    def shutdown(self) -> None:
        self._exporter.shutdown()
