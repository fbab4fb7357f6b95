"""The double of the search index does what the engines do."""

from __future__ import annotations

import pytest

from tests.contracts.search import SearchContract
from tests.fakes.search_index import FakeSearchIndex


class TestFakeSearchIndex(SearchContract):
    """The contract of every search index."""

    stems = False

    @pytest.fixture
    def index(self) -> FakeSearchIndex:
        return FakeSearchIndex()
