"""Spans are sent in the background: a collector that is dead or slow neither delays nor fails a turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from baton.adapters.tracing.otel_tracer import OtelTracer
from baton.adapters.tracing.sending import REST_SECONDS, BoundedSending, RestingExporter, SpansDropped
from baton.composition.tracing import make_tracer
from baton.domain.errors import InternalError
from baton.domain.metrics import Metric, collect_counts
from baton.domain.tracing import parse_trace_headers
from baton.ports.tracing import NO_TRACER, TracedRun
from baton.settings.resources import TraceSettings
from tests.collector import Collector

RUN = TracedRun("acme", "550e8400-e29b-41d4-a716-446655440000", "assistant", "run-1")
DEAD = "http://127.0.0.1:9/v1/traces"


class Sent:
    """A tracer at one collector, with a clock for its rests."""

    def __init__(self, endpoint: str, headers: Mapping[str, str] | None = None, *, max_waiting: int = 100) -> None:
        self.now = 1000.0
        self.headers = dict(headers or {})
        self.dropped = SpansDropped()
        self.exporter = RestingExporter(
            endpoint, lambda: self.headers, self.dropped, seconds=0.5, monotonic=lambda: self.now
        )
        self.sending = BoundedSending(self.exporter, self.dropped, max_waiting=max_waiting)
        self.tracer = OtelTracer(self.sending, self.dropped, resource={})

    def trace(self, number: int = 1) -> None:
        for _ in range(number):
            self.tracer.begin(RUN).end()

    def counted(self, seconds: float) -> int:
        """Flush, and return the number of spans that were counted as dropped."""
        counts: Counter[Metric] = Counter()
        with collect_counts(lambda written: counts.update(written)):
            self.tracer.flush(seconds)
        return counts[Metric.SPANS_DROPPED]


def test_a_dead_collector_costs_its_spans_and_rests() -> None:
    sent = Sent(DEAD)
    sent.trace(3)
    assert sent.counted(30) == 3
    assert sent.exporter.is_resting
    sent.trace(2)
    assert sent.counted(0) == 2, "dropped at once, without a request"


def test_after_its_rest_the_collector_is_asked_again() -> None:
    with Collector(status=400) as collector:
        sent = Sent(collector.endpoint)
        sent.trace()
        assert sent.counted(30) == 1
        collector.status = 200
        sent.now += REST_SECONDS
        sent.trace()
        assert sent.counted(30) == 0
        assert len(collector.spans) == 1


def test_a_collector_that_hangs_is_waited_for_no_longer_than_the_flush_may_take() -> None:
    with Collector(hangs=True) as collector:
        sent = Sent(collector.endpoint, max_waiting=5)
        sent.trace(5)
        assert not sent.sending.flush(0.01)
        assert collector.was_asked.wait(30)
        sent.trace(4)
        assert sent.counted(0) == 4, "the queue has a bound"


def test_a_flush_without_a_thread_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoThread:
        def __init__(self, **options: object) -> None: ...

        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    with Collector() as collector:
        sent = Sent(collector.endpoint)
        sent.trace()
        with monkeypatch.context() as patch:
            patch.setattr("baton.adapters.tracing.sending.threading.Thread", NoThread)
            assert not sent.sending.flush(0)
        assert sent.sending.flush(30)


def test_headers_come_from_the_secret_and_are_read_again_after_a_failure() -> None:
    with Collector(status=401) as collector:
        sent = Sent(collector.endpoint, {"x-api-key": "old"})
        sent.trace()
        assert sent.counted(30) == 1
        collector.status, sent.headers["x-api-key"] = 200, "new"
        sent.now += REST_SECONDS
        sent.trace()
        assert sent.counted(30) == 0
        assert [headers["x-api-key"] for headers in collector.headers] == ["old", "new"]


def test_a_secret_that_cannot_be_read_is_a_failure_like_another() -> None:
    dropped = SpansDropped()

    def fail_to_read() -> Mapping[str, str]:
        raise ValueError("no JSON")

    sending = BoundedSending(RestingExporter(DEAD, fail_to_read, dropped), dropped)
    OtelTracer(sending, dropped, resource={}).begin(RUN).end()
    assert sending.flush(30)
    assert dropped.take() == 1


def test_a_process_that_never_freezes_waits_for_no_span() -> None:
    with Collector(hangs=True) as collector:
        dropped = SpansDropped()
        sending = BoundedSending(RestingExporter(collector.endpoint, dict, dropped), dropped)
        tracer = OtelTracer(sending, dropped, resource={}, freezes=False)
        tracer.begin(RUN).end()
        tracer.flush(3600)


def test_traces_are_off_without_a_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_TRACES_ENDPOINT", "")
    assert make_tracer(TraceSettings(), lambda: pytest.fail("no secret is read")) is NO_TRACER


def test_the_secret_holds_headers_by_name() -> None:
    assert parse_trace_headers('{"x-api-key": "abc"}') == {"x-api-key": "abc"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc-secret",
        "[]",
        '{"x-api-key": 1}',
        '{"x-api-key": "abc-secret\\n"}',
        '{"x\\n": "abc-secret"}',
        '{"": "a"}',
    ],
)
def test_a_broken_secret_is_described_without_its_value(text: str) -> None:
    with pytest.raises(InternalError) as refused:
        parse_trace_headers(text)
    assert "abc-secret" not in str(refused.value)
