"""Servers and harnesses of the tests of tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.tools.harness import Harness, mcp_server
from tests.integration.tools.http_server import http_server


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


@pytest.fixture(scope="module")
def files_port() -> Iterator[int]:
    with mcp_server() as port:
        yield port


@pytest.fixture(scope="module")
def service() -> Iterator[int]:
    """The port of an HTTP service."""
    with http_server() as port:
        yield port
