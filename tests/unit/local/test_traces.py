"""The local cloud's collector: the newest traces, for readers of the tenant that they belong to."""

from __future__ import annotations

import gzip
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from starlette.applications import Starlette

from baton_local.traces import MAX_BODY, PATH, LocalTraces, TraceRoutes
from baton_testing.fakes.clock import FakeClock
from tests.fakes.token_verifier import OpenVerifier

READER = "acme,ada,context:inspect"


def export_spans(*spans: tuple[int, int, int, str]) -> bytes:
    """A request with spans of a trace, an id, a parent and a tenant."""
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for trace, span, parent, tenant in spans:
        instance = scope.spans.add(name=f"span {span}", start_time_unix_nano=span, end_time_unix_nano=span + 1)
        instance.trace_id, instance.span_id = trace.to_bytes(16), span.to_bytes(8)
        instance.parent_span_id = parent.to_bytes(8) if parent else b""
        attribute = instance.attributes.add(key="baton.tenant.id")
        attribute.value.string_value = tenant
    body: bytes = request.SerializeToString()
    return body


class Collector:
    def __init__(self, **bounds: int) -> None:
        routes = TraceRoutes(LocalTraces(**bounds), lambda: OpenVerifier(FakeClock()))
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=Starlette(routes=routes.make_routes())), base_url="http://localhost"
        )

    async def take(self, body: bytes) -> int:
        headers = {"Content-Encoding": "gzip"}
        return (await self.client.post(PATH, content=gzip.compress(body), headers=headers)).status_code

    async def show(self, trace: int, token: str = READER) -> httpx.Response:
        return await self.client.get(f"{PATH}/{trace:032x}", headers={"Authorization": f"Bearer {token}"})


@pytest.fixture
def collector() -> Collector:
    return Collector(max_traces=2, max_spans=3)


async def names(answer: httpx.Response) -> list[Any]:
    return [span["name"] for span in answer.json()["spans"]]


async def test_spans_of_a_trace_come_in_several_requests_and_are_shown_in_their_order(collector: Collector) -> None:
    assert await collector.take(export_spans((1, 5, 4, "acme"))) == 200
    assert await collector.take(export_spans((1, 4, 0, "acme"))) == 200
    answer = await collector.show(1)
    assert await names(answer) == ["span 4", "span 5"]
    assert answer.json()["spans"][1]["parentId"] == answer.json()["spans"][0]["id"]


async def test_another_tenant_and_readers_without_permission_see_nothing(collector: Collector) -> None:
    await collector.take(export_spans((1, 4, 0, "acme"), (1, 5, 4, "globex")))
    assert await names(await collector.show(1)) == ["span 4"]
    assert await names(await collector.show(1, "globex,eve,context:inspect")) == ["span 5"]
    assert (await collector.show(1, "third,eve,context:inspect")).status_code == 404
    assert (await collector.show(1, "acme,bob")).status_code == 403
    assert (await collector.show(1, "nobody")).status_code == 401


async def test_the_newest_traces_are_kept_each_with_a_limited_number_of_spans(collector: Collector) -> None:
    for trace in (1, 2, 3):
        await collector.take(export_spans(*((trace, span, 0, "acme") for span in range(1, 6))))
    assert (await collector.show(1)).status_code == 404
    assert await names(await collector.show(3)) == ["span 1", "span 2", "span 3"]


@pytest.mark.parametrize(
    ("body", "status"), [(b"no protobuf", 400), (bytes(MAX_BODY), 400), (bytes(MAX_BODY + 1), 413)]
)
async def test_what_cannot_be_read_is_refused(collector: Collector, body: bytes, status: int) -> None:
    assert await collector.take(body) == status


async def test_a_large_body_is_refused_before_all_of_it_is_read(collector: Collector) -> None:
    assert (await collector.client.post(PATH, content=bytes(MAX_BODY + 1))).status_code == 413


@pytest.mark.parametrize(
    "body", [b"plain", gzip.compress(export_spans((1, 4, 0, "acme")))[:-1]], ids=["not compressed", "cut off"]
)
async def test_a_body_that_is_no_whole_gzip_is_refused(collector: Collector, body: bytes) -> None:
    answer = await collector.client.post(PATH, content=body, headers={"Content-Encoding": "gzip"})
    assert answer.status_code == 400
