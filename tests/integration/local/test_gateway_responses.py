"""The local gateway answers by itself as the product's template says."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, cast

import httpx
import pytest

from baton_local.functions import Function
from baton_local.gateway.http import MAX_BODY, RestGateway
from baton_local.stack.declarations import Stack


class Behind:
    """A function that does with every event what its test wants."""

    def __init__(self, result: Future[Any]) -> None:
        self._result = result

    def invoke(self, event: Any) -> Future[Any]:
        return self._result


async def ask(stack: Stack, method: str, path: str, result: Future[Any], content: bytes = b"") -> httpx.Response:
    functions = cast("dict[str, Function]", dict.fromkeys(stack.functions, Behind(result)))
    patience = 29.0 if result.done() else 0.0
    gateway = RestGateway(stack.rest, functions, {}, integration_seconds=patience)
    transport = httpx.ASGITransport(app=cast("Any", gateway))
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway.test") as client:
        return await client.request(method, path, content=content)


def make_failed(error: type[Exception] = RuntimeError) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(error("the function failed"))
    return future


@pytest.mark.parametrize(
    ("result", "content", "status", "code"),
    [
        pytest.param(Future(), b"", 504, "timeout", id="too slow"),
        pytest.param(make_failed(), b"", 504, "internal_error", id="fails"),
        pytest.param(make_failed(TimeoutError), b"", 504, "internal_error", id="the function's own TimeoutError"),
        pytest.param(Future(), b"x" * (MAX_BODY + 1), 413, "message_too_large", id="too much"),
    ],
)
async def test_trouble_has_its_own_status_and_a_problem(
    product_stack: Stack, result: Future[Any], content: bytes, status: int, code: str
) -> None:
    response = await ask(product_stack, "POST", "/v1/agents", result, content)
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert (response.status_code, problem["code"], problem["status"]) == (status, code, status)
