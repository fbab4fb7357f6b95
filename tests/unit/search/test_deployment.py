"""The custom resource that makes the indices, on a domain that is not ready, refuses, or is not there."""

from __future__ import annotations

import asyncio
import json
import runpy
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from aiohttp import web

from baton.adapters.opensearch.readiness import PATIENCE_SECONDS, may_pass
from baton.composition import search_commands
from baton.composition.startup import environment
from baton.domain.documents.search import IndexName
from baton.domain.errors import SearchUnavailable
from baton_local.engines.process import find_free_port
from baton_local.root import ROOT
from tests.unit.search.fake_domain import FakeDomain, Refusal

ROLES = ["arn:aws:iam::123456789012:role/turns", "arn:aws:iam::123456789012:role/http"]
NOT_AUTHORIZED = {"Message": "User: arn:aws:sts::1:assumed-role/search is not authorized to perform: es:ESHttpPut"}
NOT_READY = {
    "unsigned": (401, {"message": "Authorization Required"}),
    "forbidden": (403, NOT_AUTHORIZED),
    "no mapping": (403, {"error": {"type": "security_exception", "reason": "no permissions for [] and User []"}}),
    "plugin starts": (503, {"error": "OpenSearch Security not initialized."}),
    "proxy": (502, {"message": "Bad Gateway"}),
    "overload": (429, {"error": {"type": "rejected_execution_exception", "reason": "queue is full"}}),
}


class VirtualClock:
    """Time that passes by sleeping only."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        await asyncio.sleep(0)


@pytest.fixture
async def domain(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeDomain]:
    """A new domain, which this deployment's settings name."""
    domain = FakeDomain()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", domain.handle)
    runner = web.AppRunner(application, shutdown_timeout=0)
    await runner.setup()
    port = find_free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    monkeypatch.setenv("BATON_SEARCH_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("BATON_SEARCH_PREFIX", "shop-dev")
    monkeypatch.setenv("BATON_EMBEDDING_MODEL", "some-model")
    monkeypatch.setenv("BATON_EMBEDDING_DIMENSIONS", "8")
    token = environment.current.set(f"search-{port}")
    yield domain
    await search_commands.close()
    environment.current.reset(token)
    await runner.cleanup()


async def deploy(clock: VirtualClock, seconds: float = 840.0) -> list[dict[str, Any]]:
    return await search_commands.deploy(ROLES, seconds=seconds, monotonic=clock, sleep=clock.sleep)


@pytest.mark.parametrize("refusal", NOT_READY.values(), ids=NOT_READY)
async def test_a_domain_that_is_ready_after_a_minute_gets_roles_and_indices(
    domain: FakeDomain, refusal: Refusal
) -> None:
    clock = VirtualClock()
    domain.refuse = lambda: refusal if clock() < 60 else None
    states = await deploy(clock)
    assert {state["version"] for state in states} == {f"shop-dev-{index}-v1" for index in IndexName}
    assert domain.mapped == {"shop-dev": ROLES}
    assert clock() == 60


async def test_a_domain_that_closes_during_the_work_is_waited_for_too(domain: FakeDomain) -> None:
    clock = VirtualClock()
    domain.refuse = lambda: (403, NOT_AUTHORIZED) if len(domain.indices) == 1 and clock() < 60 else None
    assert len(await deploy(clock)) == len(IndexName)


async def test_a_domain_that_stays_closed_fails_after_eight_minutes_with_its_answer(domain: FakeDomain) -> None:
    clock = VirtualClock()
    domain.refuse = lambda: (403, NOT_AUTHORIZED)
    with pytest.raises(SearchUnavailable) as caught:
        await deploy(clock)
    assert clock() == PATIENCE_SECONDS == 480
    reason = search_commands.explain(caught.value)
    assert ".." not in reason
    assert "is not authorized to perform: es:ESHttpPut" in reason
    assert "SearchIndicesOnDeploy=false" in reason


async def test_the_time_that_the_function_has_left_is_a_bound(domain: FakeDomain) -> None:
    clock = VirtualClock()
    domain.refuse = lambda: (503, {"error": "OpenSearch Security not initialized."})
    with pytest.raises(SearchUnavailable) as caught:
        await deploy(clock, seconds=90)
    assert clock() == 30
    assert "not initialized" in search_commands.explain(caught.value)


@pytest.mark.parametrize("status", [400, 404, 405])
async def test_a_request_that_is_wrong_fails_at_once(domain: FakeDomain, status: int) -> None:
    clock = VirtualClock()
    domain.refuse = lambda: (status, {"error": {"type": "invalid_argument", "reason": "no handler found for uri"}})
    with pytest.raises(SearchUnavailable) as caught:
        await deploy(clock)
    assert clock() == 0
    assert len(domain.requests) == 1
    assert "no handler found for uri" in search_commands.explain(caught.value)
    assert "fine-grained access control" in search_commands.explain(caught.value)


async def test_a_domain_without_an_address_yet_is_waited_for(
    domain: FakeDomain, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = find_free_port()
    monkeypatch.setenv("BATON_SEARCH_URL", f"http://127.0.0.1:{nobody}")
    clock = VirtualClock()
    with pytest.raises(SearchUnavailable) as caught:
        await deploy(clock)
    assert clock() == PATIENCE_SECONDS
    assert may_pass(caught.value)
    assert f"127.0.0.1:{nobody}" in search_commands.explain(caught.value)


@pytest.mark.parametrize("request_type", ["Delete", "Create"])
def test_cloudformation_gets_an_answer_without_a_domain(request_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rollback of a failed creation sends Delete when the domain may be unreachable, and must end."""
    monkeypatch.setenv("BATON_SEARCH_URL", f"http://127.0.0.1:{find_free_port()}")
    sent: list[dict[str, Any]] = []

    def put(url: str, content: str, **_: Any) -> httpx.Response:
        sent.append(json.loads(content))
        return httpx.Response(200, request=httpx.Request("PUT", url))

    monkeypatch.setattr(httpx, "put", put)
    event = {"StackId": "stack", "RequestId": "request", "LogicalResourceId": "SearchIndices"}
    event |= {"RequestType": request_type, "ResponseURL": "http://cloudformation.invalid", "ResourceProperties": {}}
    context = SimpleNamespace(
        function_name="search",
        memory_limit_in_mb=512,
        invoked_function_arn="arn",
        aws_request_id="id",
        log_stream_name="stream",
        get_remaining_time_in_millis=lambda: 0,
    )
    token = environment.current.set(f"search-answer-{request_type}")
    runpy.run_path(str(ROOT / "functions/search/app.py"))["handler"](event, context)
    environment.current.reset(token)
    [answer] = sent
    assert answer["Status"] == ("SUCCESS" if request_type == "Delete" else "FAILED")
    assert len(json.dumps(answer)) < 4096
    assert answer["PhysicalResourceId"] == "search-indices"
