"""Fixtures that run the stand-ins."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.models.standins.server import StandIns


@pytest.fixture(scope="session")
def stand_in_server() -> Iterator[StandIns]:
    """One server for the whole session."""
    with StandIns() as servers:
        yield servers


@pytest.fixture
def stand_ins(stand_in_server: StandIns) -> StandIns:
    """The server without requests, faults or changes of earlier tests."""
    stand_in_server.reset()
    return stand_in_server
