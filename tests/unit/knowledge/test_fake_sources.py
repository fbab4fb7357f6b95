"""The store of sources in memory keeps the contract of the real one."""

from __future__ import annotations

import pytest

from tests.contracts.sources import SourceRooms, SourceStoreContract
from tests.fakes.sources import FakeSources


@pytest.fixture
def rooms() -> SourceRooms:
    return SourceRooms(FakeSources())


class TestSources(SourceStoreContract):
    pass
