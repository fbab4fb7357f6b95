"""An OpenSearch with indices for each test, and an S3 for the embedded index."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest

from baton.adapters.opensearch.definitions import Layout
from baton.adapters.opensearch.engine import Engine
from baton_local.engines.clients import client
from baton_local.engines.opensearch import OpenSearch
from baton_local.settings import default_cache_dir
from tests.engines import use_or_start

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


@pytest.fixture(scope="package")
def opensearch() -> Iterator[str]:
    """The endpoint of an OpenSearch with k-NN. It starts in about 10 s; ``OPENSEARCH_URL`` names a running one."""
    yield from use_or_start("OPENSEARCH_URL", OpenSearch(default_cache_dir()))


@pytest.fixture(scope="package")
async def engine(opensearch: str) -> AsyncIterator[Engine]:
    """The OpenSearch of this folder."""
    engine = Engine(opensearch)
    yield engine
    await engine.close()


@pytest.fixture
async def layout(engine: Engine) -> AsyncIterator[Layout]:
    """Names of indices of one test's own. They are deleted when it ends."""
    layout = Layout(prefix=f"test-{uuid.uuid4().hex[:12]}", refresh_interval="50ms")
    yield layout
    await engine.request("DELETE", f"/{layout.prefix}-*")


@pytest.fixture(scope="package")
def s3(moto_server: str) -> Iterator[S3Client]:
    """A client of a local S3."""
    s3 = client("s3", moto_server)
    yield s3
    s3.close()
