"""An endpoint of a guardrail in memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx

from baton.adapters.egress import EgressPolicy
from baton.adapters.egress.circuit_breaker import CircuitBreakers
from baton.adapters.tools.header_values import HeaderValues
from baton.adapters.tools.http_tools import HttpRequests, HttpTools
from baton.adapters.tools.toolbox import Toolbox
from baton.domain.agents.tool import HttpTool
from baton.domain.errors import NotFound

POLICY = {
    "name": "policy",
    "url": "https://policy.example.com/judge",
    "headers": {"Authorization": {"secret": "baton/{stage}/policy", "format": "Bearer {}"}},
}
Judge = Callable[[dict[str, Any]], Any]
UNCHECKED = "I can't answer that at the moment. Please try again later."


class Secrets:
    """The secrets of the deployment."""

    def get(self, name: str) -> str:
        if name != "baton/dev/policy":
            raise NotFound(name)
        return "s3cret"

    renew = get


class Endpoint:
    """An endpoint with a judge, and the requests that it got."""

    def __init__(
        self, judge: Judge, hosts: tuple[str, ...] = ("policy.example.com",), guards: CircuitBreakers | None = None
    ) -> None:
        self.requests: list[httpx.Request] = []
        self._judge = judge
        headers = HeaderValues(Secrets(), Secrets(), "dev")
        source = HttpTools(HttpRequests(self._client, headers), lambda: EgressPolicy(hosts))
        self.toolbox = Toolbox({HttpTool: lambda: source}, headers, guards=guards)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.content) for request in self.requests]

    def _client(self, seconds: float) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._judge(json.loads(request.content))
        return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)
