"""``Tracer`` on OpenTelemetry's SDK.

The provider is not made the global one of the process: FastAPI, the MCP SDK and the A2A SDK would then make spans too,
with addresses and arguments in them, and send trace contexts to servers that are not trusted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased

from baton.adapters.tracing.sending import BoundedSending, SpansDropped
from baton.domain import tracing
from baton.domain.metrics import Metric, count
from baton.domain.tracing import CONTENT, Attribute, Attributes, Operation
from baton.ports.tracing import TracedRun

MAX_ATTRIBUTE = 262_144
"""The length to which an attribute's value is cut, in characters."""
CANCELLED = "cancelled"
"""The code of a run that its user has cancelled."""

_ids: ContextVar[tuple[int, int] | None] = ContextVar("derived_ids", default=None)
"""The ids of the trace and the span that is about to begin, if they are derived from a run."""


class OtelTracer:
    """``Tracer`` that sends its spans by ``sending``. ``dropped`` counts the spans that were not sent."""

    def __init__(
        self,
        sending: BoundedSending,
        dropped: SpansDropped,
        *,
        resource: Mapping[str, str],
        shows_content: bool = False,
        freezes: bool = True,
    ) -> None:
        """``resource`` describes the deployment, by OpenTelemetry's names.

        ``shows_content`` adds the texts of messages to spans. ``freezes`` says that the process is frozen between
        invocations, as in Lambda, so that ``flush`` must send the spans before.
        """
        provider = TracerProvider(
            sampler=ParentBased(ALWAYS_ON),
            resource=Resource(dict(resource)),
            shutdown_on_exit=False,
            id_generator=_DerivedIds(),
            span_limits=SpanLimits(max_span_attribute_length=MAX_ATTRIBUTE),
        )
        provider.add_span_processor(sending)
        self._tracer = provider.get_tracer("baton")
        self._sending = sending
        self._dropped = dropped
        self._freezes = freezes
        self.shows_content = shows_content

    def begin(self, run: TracedRun) -> OtelSpan:
        """See ``Tracer``."""
        joined = _parse_traceparent(tracing.get_joined_traceparent())
        parent = Context()
        if joined is not None:
            parent = trace.set_span_in_context(trace.NonRecordingSpan(joined), parent)
        # Tracing tools show a span with a conversation and without a parent as a turn. Work after a run is not a turn.
        thread = Attribute.THREAD if run.run_id is None else Attribute.CONVERSATION
        common: Attributes = {Attribute.TENANT: run.tenant_id, thread: run.thread_id}
        attributes: Attributes = {Attribute.WORKFLOW: run.name}
        if run.run_id is None:
            return self.start(parent, Operation.RUN, run.name, attributes, common, trace.SpanKind.CONSUMER)
        attributes = {**attributes, Attribute.RUN: run.run_id, Attribute.ATTEMPT: run.attempt}
        links: tuple[trace.Link, ...] = ()
        if run.attempt > 1:
            trace_id, span_id = _derive_ids(run, run.attempt - 1)
            sampled = trace.TraceFlags(trace.TraceFlags.SAMPLED)
            earlier_trace_id = joined.trace_id if joined is not None else trace_id
            links = (trace.Link(trace.SpanContext(earlier_trace_id, span_id, is_remote=True, trace_flags=sampled)),)
        token = _ids.set(_derive_ids(run, run.attempt))
        try:
            return self.start(parent, Operation.RUN, run.name, attributes, common, trace.SpanKind.SERVER, links)
        finally:
            _ids.reset(token)

    def start(
        self,
        parent: Context,
        operation: Operation,
        name: str,
        attributes: Attributes,
        common: Attributes,
        kind: trace.SpanKind,
        links: tuple[trace.Link, ...] = (),
        began_ns: int | None = None,
    ) -> OtelSpan:
        """Begin a span in the context ``parent``. ``common`` are attributes of the span and of all spans below it.

        ``began_ns`` is the time at which the span began, in nanoseconds since 1970; None for now.
        """
        values = _select_values({Attribute.OPERATION: operation.value, **common, **attributes}, self.shows_content)
        span = self._tracer.start_span(f"{operation} {name}", parent, kind, values, links, began_ns)
        return OtelSpan(self, span, common)

    def flush(self, seconds: float) -> None:
        """See ``Tracer``."""
        if self._freezes:
            self._sending.flush(seconds)
        dropped = self._dropped.take()
        if dropped:
            count(Metric.SPANS_DROPPED, dropped)


@dataclass(frozen=True, slots=True)
class OtelSpan:
    """``Span`` of the SDK."""

    _tracer: OtelTracer
    _span: trace.Span
    _common: Attributes

    @property
    def shows_content(self) -> bool:
        """See ``Span``."""
        return self._tracer.shows_content

    @property
    def traceparent(self) -> str:
        context = self._span.get_span_context()
        return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"

    def begin(
        self,
        operation: Operation,
        name: str,
        attributes: Attributes,
        *,
        is_remote: bool = False,
        began_ns: int | None = None,
    ) -> OtelSpan:
        kind = trace.SpanKind.CLIENT if is_remote else trace.SpanKind.INTERNAL
        parent = trace.set_span_in_context(self._span, Context())
        return self._tracer.start(parent, operation, name, attributes, self._common, kind, began_ns=began_ns)

    def set(self, attributes: Attributes) -> None:
        self._span.set_attributes(_select_values(attributes, self.shows_content))

    def fail(self, code: str) -> None:
        if code == CANCELLED:  # which is not an error
            self._span.set_attribute(Attribute.OUTCOME, code)
            return
        self._span.set_attribute(Attribute.ERROR, code)
        self._span.set_status(trace.Status(trace.StatusCode.ERROR))

    def end(self, *, at_ns: int | None = None) -> None:
        self._span.end(at_ns)


class _DerivedIds(RandomIdGenerator):
    """A generator of ids: derived ids for the span of a run, random ids for other spans."""

    def generate_trace_id(self) -> int:
        ids = _ids.get()
        return ids[0] if ids is not None else super().generate_trace_id()

    def generate_span_id(self) -> int:
        ids = _ids.get()
        return ids[1] if ids is not None else super().generate_span_id()


def _derive_ids(run: TracedRun, attempt: int) -> tuple[int, int]:
    """Return the ids of an attempt's trace and span. Later attempts can derive them too, so they are not stored."""
    attempt_key = f"{run.tenant_id}\0{run.thread_id}\0{run.run_id}\0{attempt}"
    digest = hashlib.sha256(attempt_key.encode()).digest()
    return int.from_bytes(digest[:16]), int.from_bytes(digest[16:24])


def _parse_traceparent(traceparent: str | None) -> trace.SpanContext | None:
    """Return the span that a valid ``traceparent`` names (W3C Trace Context); None for None."""
    if traceparent is None:
        return None
    _, trace_id, span_id, flags = traceparent.split("-")
    return trace.SpanContext(
        int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=trace.TraceFlags(int(flags, 16))
    )


def _select_values(attributes: Attributes, shows_content: bool) -> dict[str, tracing.Value]:
    """Return the attributes that have values. Attributes with content are included only with ``shows_content``."""
    return {
        name.value: value
        for name, value in attributes.items()
        if value is not None and (shows_content or name not in CONTENT)
    }
