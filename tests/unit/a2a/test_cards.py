"""The cache of remote agents' cards."""

from __future__ import annotations

import httpx
import pytest
from a2a.client.errors import AgentCardResolutionError

from baton.adapters.a2a.cards import CARD_SECONDS, MAX_CARD_BYTES, MAX_CARD_VALUES, AgentCards

HOME = "https://agent.example"
CURRENT, OLDER = "/.well-known/agent-card.json", "/.well-known/agent.json"


class CardServer:
    """A server of one card. It knows which one a client has."""

    def __init__(self, tag: str | None = '"1"', path: str = CURRENT) -> None:
        self.name = "First"
        self.tag = tag
        self.path = path
        self.status: int | None = None
        self.requests: list[tuple[str, str | None]] = []
        """Path and ``If-None-Match`` of each request."""
        self.now = 0.0
        self.cards = AgentCards(monotonic=lambda: self.now)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        existing = request.headers.get("If-None-Match")
        self.requests.append((request.url.path, existing))
        if request.url.path != self.path:
            return httpx.Response(404)
        if self.status is not None:
            return httpx.Response(self.status)
        if existing is not None and existing == self.tag:
            return httpx.Response(304)
        card = {"name": self.name, "description": "", "version": "1", "url": HOME, "capabilities": {}, "skills": []}
        return httpx.Response(200, json=card, headers={"ETag": self.tag} if self.tag is not None else {})

    async def name_read(self, tenant_id: str | None = None) -> str:
        async with httpx.AsyncClient(transport=httpx.MockTransport(self)) as client:
            return (await self.cards.get(HOME, client, tenant_id=tenant_id)).name

    async def name_read_later(self) -> str:
        self.now += CARD_SECONDS
        return await self.name_read()


async def test_an_unchanged_card_is_not_sent_again() -> None:
    server = CardServer()
    assert [await server.name_read(), await server.name_read_later(), await server.name_read_later()] == ["First"] * 3
    assert server.requests == [(CURRENT, None), (CURRENT, '"1"'), (CURRENT, '"1"')]
    await server.name_read()
    assert len(server.requests) == 3


async def test_a_changed_card_replaces_the_one_before() -> None:
    server = CardServer()
    await server.name_read()
    server.name, server.tag = "Second", 'W/"2"'
    assert await server.name_read_later() == "Second"
    assert await server.name_read_later() == "Second"
    assert server.requests[-1] == (CURRENT, 'W/"2"')


async def test_a_card_at_the_older_address_is_known_there() -> None:
    server = CardServer(path=OLDER)
    await server.name_read()
    await server.name_read_later()
    assert server.requests == [(CURRENT, None), (OLDER, None), (CURRENT, None), (OLDER, '"1"')]


@pytest.mark.parametrize("tag", [None, "", "no quotes", '"' + "x" * 201 + '"', '"\t"'])
async def test_without_a_usable_tag_the_card_is_read_again(tag: str | None) -> None:
    server = CardServer(tag)
    await server.name_read()
    server.name = "Second"
    assert await server.name_read_later() == "Second"
    assert {entry for _, entry in server.requests} == {None}


@pytest.mark.parametrize("status", [304, 302, 401, 500])
async def test_a_status_without_a_card_is_a_failure(status: int) -> None:
    server = CardServer()
    server.status = status
    with pytest.raises(AgentCardResolutionError) as failure:
        await server.name_read()
    assert failure.value.status_code == status


async def test_a_forgotten_card_and_another_tenants_are_read_whole() -> None:
    server = CardServer()
    await server.name_read()
    await server.name_read("acme")
    server.cards.forget(HOME)
    await server.name_read()
    assert server.requests == [(CURRENT, None)] * 3


@pytest.mark.parametrize("skills", [[{}] * MAX_CARD_VALUES, ["x" * MAX_CARD_BYTES]])
async def test_a_card_that_takes_long_to_be_read_is_refused(skills: list[object]) -> None:
    def serve(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"name": "Large", "skills": skills})

    async with httpx.AsyncClient(transport=httpx.MockTransport(serve)) as client:
        with pytest.raises(AgentCardResolutionError, match="more than"):
            await AgentCards().get(HOME, client)
