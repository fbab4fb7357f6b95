"""The adapter of OpenSearch against a real OpenSearch with k-NN."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from baton.adapters.opensearch.administration import OpenSearchAdministration
from baton.adapters.opensearch.definitions import Layout
from baton.adapters.opensearch.engine import Engine
from baton.adapters.opensearch.index import OpenSearchIndex
from baton.ports.clock import SystemClock
from tests.contracts.search import EMBEDDER, SearchContract


@pytest.fixture(scope="module")
async def index(opensearch: str) -> AsyncIterator[OpenSearchIndex]:
    """Indices of this module's own."""
    layout = Layout(prefix=f"test-{uuid.uuid4().hex[:12]}", refresh_interval="50ms")
    engine = Engine(opensearch)
    await OpenSearchAdministration(engine, layout).migrate(EMBEDDER)
    yield OpenSearchIndex(engine, SystemClock(), layout, EMBEDDER.name, search_seconds=30)
    await engine.request("DELETE", f"/{layout.prefix}-*")
    await engine.close()


class TestOpenSearch(SearchContract):
    """It does what every search index does."""
