"""The smoke test's connection, and its removal of conversations."""

from __future__ import annotations

from typing import Any, cast

import httpx
import pytest

from baton_client import AsyncBaton
from baton_deployment.errors import DeploymentError
from baton_deployment.smoke.conversation import connected
from baton_deployment.smoke.steps import Steps
from baton_deployment.smoke.target import Target

REQUEST = {
    "requestId": "r",
    "subject": "thread",
    "userId": "ada",
    "status": "running",
    "requestedBy": "ada",
    "requestedAt": "2026-11-30T09:00:00Z",
    "counts": {},
    "residue": {},
}


async def test_an_address_that_is_none_of_a_websocket_is_reported() -> None:
    with pytest.raises(DeploymentError, match=r"https://example\.com cannot be reached"):
        async with connected(Target("https://example.com", "https://example.com", "token")):
            pass


async def test_a_conversation_that_was_never_begun_keeps_no_other_from_being_deleted() -> None:
    deleted: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        is_unknown = request.method == "GET" or not deleted
        if request.method == "DELETE":
            deleted.append(request.url.path.rpartition("/")[2])
        problem = {"code": "thread_unavailable", "status": 404, "detail": "", "title": "", "retryable": False}
        return httpx.Response(404, json=problem) if is_unknown else httpx.Response(202, json=REQUEST)

    http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    async with AsyncBaton("http://server", token="t", http_client=http, time_zone="") as client:
        steps = Steps(Target("http://server", "ws://server", "t"), client, 1.0)
        ids = [cast("Any", steps)._make_thread_id() for _ in range(2)]
        assert "2 conversations of this trial are gone" in await steps.forget_user()
    assert deleted == ids
