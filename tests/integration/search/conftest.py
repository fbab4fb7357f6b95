"""Indices of OpenSearch for each test module."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from baton.adapters.opensearch.definitions import Layout
from baton.adapters.opensearch.engine import Engine


@pytest.fixture(scope="session")
async def engine(opensearch: str) -> AsyncIterator[Engine]:
    """The OpenSearch of this session."""
    engine = Engine(opensearch)
    yield engine
    await engine.close()


@pytest.fixture
async def layout(engine: Engine) -> AsyncIterator[Layout]:
    """Names of indices of one test's own. They are deleted when it ends."""
    layout = Layout(prefix=f"test-{uuid.uuid4().hex[:12]}", refresh_interval="50ms")
    yield layout
    await engine.request("DELETE", f"/{layout.prefix}-*")
