"""The reference clients of A2A, started once for the tests of a file."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.e2e.a2a.clients import LINES, A2AClient, start_client


@pytest.fixture(scope="module")
async def running_clients() -> AsyncIterator[dict[str, A2AClient]]:
    """A client of each line."""
    clients = {line: await start_client(line) for line in LINES}
    yield clients
    for client in clients.values():
        await client.close()


@pytest.fixture(params=LINES)
def client(request: pytest.FixtureRequest, running_clients: dict[str, A2AClient]) -> A2AClient:
    """Each in turn."""
    return running_clients[request.param]
