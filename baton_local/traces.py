"""The local cloud's collector of traces: it receives OTLP over HTTP, and serves the newest traces to the console."""

import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from baton.domain.errors import BatonError, NotFound
from baton.domain.tenants.identity import Permission
from baton.domain.tracing import Attribute
from baton.ports.tenants.identity import TokenVerifier
from baton_local.serving.asgi import BodyTooLarge, read_body

PATH = "/local/traces"
MAX_TRACES = 200
"""The number of newest traces that are kept."""
MAX_SPANS = 1_000
"""The most spans of one trace that are kept."""
MAX_BODY = 8 * 1024 * 1024
"""The most bytes of a request, compressed or not."""
BEARER = "bearer "

Json = dict[str, Any]


class LocalTraces:
    """The newest traces, in memory. Each is shown to readers of the tenant that its spans name."""

    def __init__(self, *, max_traces: int = MAX_TRACES, max_spans: int = MAX_SPANS) -> None:
        self._max_traces = max_traces
        self._max_spans = max_spans
        self._traces: OrderedDict[str, list[Json]] = OrderedDict()

    def add(self, body: bytes) -> None:
        """Keep the spans of a request's body, within the limits. Raises ``ValueError`` if the body cannot be read."""
        from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        try:
            request = ExportTraceServiceRequest.FromString(body)
        except DecodeError as error:
            raise ValueError("no traces in OTLP's protobuf") from error
        for trace_id, span in _read(request):
            spans = self._traces.setdefault(trace_id, [])
            self._traces.move_to_end(trace_id)
            if len(spans) < self._max_spans:
                spans.append(span)
        while len(self._traces) > self._max_traces:
            self._traces.popitem(last=False)

    def of(self, trace_id: str, tenant_id: str) -> list[Json]:
        """Return the tenant's spans of a trace, in the order in which they began; empty if the trace is unknown."""
        spans = self._traces.get(trace_id, [])
        own = [span for span in spans if span["attributes"].get(Attribute.TENANT) == tenant_id]
        return sorted(own, key=lambda span: (span["start"], -span["end"]))


class TraceRoutes:
    """The routes of the collector: functions send spans to it, and the console reads them."""

    def __init__(self, traces: LocalTraces, verifier: Callable[[], TokenVerifier]) -> None:
        self._traces = traces
        self._verifier = verifier

    def make_routes(self) -> list[Route]:
        """Return the routes, for a Starlette app."""
        return [Route(PATH, self.take, methods=["POST"]), Route(f"{PATH}/{{trace_id}}", self.show, methods=["GET"])]

    async def take(self, request: Request) -> Response:
        """Serve the exporter's ``POST``: 413 for a body that is too large, and 400 for one that cannot be read."""
        try:
            body = await read_body(request.receive, MAX_BODY)
            self._traces.add(_unpack(body or b"", request.headers.get("content-encoding")))
        except BodyTooLarge:
            return JSONResponse({"detail": f"the body has more than {MAX_BODY} bytes"}, status_code=413)
        except ValueError as problem:
            return JSONResponse({"detail": str(problem)}, status_code=400)
        return Response(status_code=200, media_type="application/x-protobuf")

    async def show(self, request: Request) -> Response:
        """Serve the spans of one trace, which must be of the caller's tenant. The caller needs ``context:inspect``."""
        authorization = request.headers.get("authorization", "")
        token = authorization[len(BEARER) :] if authorization.lower().startswith(BEARER) else ""
        try:
            scope = (await run_in_threadpool(self._verifier().verify, token)).scope
            scope.require(Permission.CONTEXT_INSPECT)
            spans = self._traces.of(request.path_params["trace_id"], scope.tenant_id)
            if not spans:
                raise NotFound("There is no such trace. The newest ones are kept until the local cloud stops.")
        except BatonError as refusal:
            return JSONResponse({"code": refusal.code, "detail": refusal.detail}, status_code=refusal.status)
        return JSONResponse({"spans": spans})


def _unpack(body: bytes, encoding: str | None) -> bytes:
    """Return a body without its gzip encoding.

    Raises ``ValueError`` if it is no gzip or its end is missing, and ``BodyTooLarge``.
    """
    if encoding != "gzip":
        return body
    unpacking = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacking.decompress(body, MAX_BODY + 1)
    except zlib.error as error:
        raise ValueError("the body is no gzip") from error
    if len(unpacked) > MAX_BODY:
        raise BodyTooLarge
    if not unpacking.eof:
        raise ValueError("the end of the gzip is missing")
    return unpacked


def _read(request: Any) -> Iterator[tuple[str, Json]]:
    """Yield each span with the id of its trace. Times are milliseconds since 1970."""
    for of_resource in request.resource_spans:
        for of_scope in of_resource.scope_spans:
            for span in of_scope.spans:
                yield (
                    span.trace_id.hex(),
                    {
                        "id": span.span_id.hex(),
                        "parentId": span.parent_span_id.hex() or None,
                        "name": span.name,
                        "start": span.start_time_unix_nano / 1e6,
                        "end": span.end_time_unix_nano / 1e6,
                        "isFailed": span.status.code == span.status.STATUS_CODE_ERROR,
                        "attributes": _read_attributes(span.attributes),
                        "links": [link.trace_id.hex() for link in span.links],
                    },
                )


def _read_attributes(pairs: Any) -> Mapping[str, Any]:
    return {pair.key: _read_value(pair.value) for pair in pairs}


def _read_value(value: Any) -> Any:
    """Return an attribute's text, number, boolean or list; None for OTLP's other kinds of values."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_read_value(member) for member in value.array_value.values]
    return getattr(value, kind) if kind in ("string_value", "bool_value", "int_value", "double_value") else None
