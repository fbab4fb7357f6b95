"""The double of the search index does what the engines do."""

from __future__ import annotations

import pytest

from baton_testing.fakes.documents.search_index import FakeSearchIndex
from tests.contracts.search import SearchContract


class TestFakeSearchIndex(SearchContract):
    """The contract of every search index."""

    stems = False

    @pytest.fixture
    def index(self) -> FakeSearchIndex:
        return FakeSearchIndex()
