"""The failures of remote agents by the HTTP statuses of their answers."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from baton.adapters.a2a.failures import to_agent_failed


@pytest.mark.parametrize(
    ("status", "is_final"), [(400, True), (401, True), (404, True), (408, False), (429, False), (503, False)]
)
def test_a_status_that_passes_is_not_final(status: int, *, is_final: bool) -> None:
    response = httpx.Response(status, request=httpx.Request("POST", "https://agent.example"))
    error = httpx.HTTPStatusError("no success", request=response.request, response=response)
    assert to_agent_failed(error).is_final is is_final


async def test_a_time_limit_of_baton_is_reported_as_such() -> None:
    with pytest.raises(TimeoutError) as error:
        async with asyncio.timeout(0):
            await asyncio.Event().wait()
    assert to_agent_failed(error.value).reason == "The agent did not answer in time."
