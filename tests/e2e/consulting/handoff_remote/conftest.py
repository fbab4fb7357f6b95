"""The tests of this folder talk to the cloud whose agents hand over."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.e2e.cloud import RunningCloud
from tests.e2e.sockets import PATIENCE_SECONDS


@pytest.fixture(scope="session")
def cloud(specialist_cloud: RunningCloud) -> RunningCloud:
    """The product with an agent that hands over."""
    return specialist_cloud


@pytest.fixture(scope="session")
async def http_client(cloud: RunningCloud) -> AsyncIterator[httpx.AsyncClient]:
    """A client of that cloud, without a token."""
    async with httpx.AsyncClient(base_url=cloud.url, timeout=PATIENCE_SECONDS, trust_env=False) as client:
        yield client
