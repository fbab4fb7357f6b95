"""A collector of traces: a server that receives OTLP over HTTP."""

from __future__ import annotations

import gzip
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue


@dataclass(frozen=True)
class ReceivedSpan:
    """A span that the collector has received."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    attributes: dict[str, Any]
    links: list[tuple[str, str]]
    is_failed: bool
    has_events: bool
    resource: dict[str, Any]


class Collector:
    """A server that accepts spans, or answers with another ``status``, or does not answer while it ``hangs``.

    Use it as a context manager.
    """

    def __init__(self, *, status: int = 200, hangs: bool = False) -> None:
        self.status = status
        self.spans: list[ReceivedSpan] = []
        self.headers: list[dict[str, str]] = []
        """The headers of each request."""
        self.was_asked = threading.Event()
        self._go_on = threading.Event()
        if not hangs:
            self._go_on.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}/v1/traces"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._go_on.set()
        self._server.shutdown()
        self._server.server_close()

    def of(self, operation: str) -> list[ReceivedSpan]:
        """Return the spans of one operation, in the order of their names."""
        results = [span for span in self.spans if span.attributes["gen_ai.operation.name"] == operation]
        return sorted(results, key=lambda span: span.name)

    def parent_of(self, span: ReceivedSpan) -> ReceivedSpan | None:
        return next((item for item in self.spans if item.span_id == span.parent_id), None)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.headers.append({name.lower(): value for name, value in self.headers.items()})
                collector.was_asked.set()
                collector._go_on.wait()
                if collector.status == 200:
                    collector.spans += _parse(gzip.decompress(body))
                self.send_response(collector.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Print nothing."""

        return Handler


def _parse(body: bytes) -> list[ReceivedSpan]:
    request = ExportTraceServiceRequest.FromString(body)
    return [
        ReceivedSpan(
            name=span.name,
            trace_id=span.trace_id.hex(),
            span_id=span.span_id.hex(),
            parent_id=span.parent_span_id.hex(),
            kind=span.kind,
            attributes={attribute.key: _value(attribute.value) for attribute in span.attributes},
            links=[(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
            is_failed=span.status.code == 2,
            has_events=bool(span.events),
            resource={attribute.key: _value(attribute.value) for attribute in of_resource.resource.attributes},
        )
        for of_resource in request.resource_spans
        for of_scope in of_resource.scope_spans
        for span in of_scope.spans
    ]


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, kind) if kind is not None else None
