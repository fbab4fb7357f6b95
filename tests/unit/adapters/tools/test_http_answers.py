"""Answers of HTTP services as text."""

from __future__ import annotations

import httpx
import pytest

from baton.adapters.tools.header_values import HeaderValues
from baton.adapters.tools.http_tools import MAX_REDIRECTS, HttpCall, HttpRequests
from baton.domain.tenants.identity import Scope
from baton.ports.agents.tools import ToolFailed
from tests.unit.adapters.tools.no_secrets import NoSecrets

TEXT = "Straße;Gebühr;30 €"
PAGE = f"<meta charset=koi8-r><p>Да {'.' * 70_000}"


async def send(transport: httpx.MockTransport) -> str:
    requests = HttpRequests(
        lambda _: httpx.AsyncClient(transport=transport), HeaderValues(NoSecrets(), NoSecrets(), "dev")
    )
    call = HttpCall("GET", "https://api.example.com/")
    result = await requests.send(call, {}, scope=Scope("acme", "ada"), idempotency_key="k", timeout_seconds=1)
    return result.text


async def answer(body: bytes, content_type: str, status: int = 200) -> str:
    response = httpx.Response(status, content=body, headers={"Content-Type": content_type})
    return await send(httpx.MockTransport(lambda _: response))


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (TEXT.encode(), "text/csv", TEXT),
        (TEXT.encode("cp1252"), "text/csv; charset=iso-8859-1", TEXT),
        (TEXT.encode("cp1252"), "text/csv", TEXT),
        (TEXT.encode(), "application/json; charset=utf-7", TEXT),
        (TEXT.encode("utf-16"), "text/plain", TEXT),
        (PAGE.encode("koi8-r"), "text/html", PAGE),
        (PAGE.encode("cp1251"), "text/html; charset=windows-1251", PAGE),
    ],
)
async def test_an_answer_is_decoded_as_pages_are(body: bytes, content_type: str, text: str) -> None:
    assert await answer(body, content_type) == text


async def test_the_reason_of_a_refusal_is_decoded_as_pages_are() -> None:
    with pytest.raises(ToolFailed, match=TEXT):
        await answer(TEXT.encode("cp1252"), "text/plain; charset=latin1", 400)


@pytest.mark.parametrize(("status", "is_outage"), [(400, False), (404, False), (408, True), (429, True), (503, True)])
async def test_a_status_that_passes_is_an_outage_and_no_refusal(status: int, *, is_outage: bool) -> None:
    with pytest.raises(ToolFailed, match=f"HTTP {status}") as failure:
        await answer(b"", "text/plain", status)
    assert failure.value.is_outage is is_outage


async def test_the_largest_number_of_redirects_is_followed_and_no_more() -> None:
    def make_redirecting_transport(times: int) -> httpx.MockTransport:
        steps = iter([httpx.Response(302, headers={"Location": f"/{step}"}) for step in range(times)])
        return httpx.MockTransport(lambda _: next(steps, httpx.Response(200, text="There")))

    assert await send(make_redirecting_transport(MAX_REDIRECTS)) == "There"
    with pytest.raises(ToolFailed, match="again and again"):
        await send(make_redirecting_transport(MAX_REDIRECTS + 1))
