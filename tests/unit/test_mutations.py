"""The injected faults of ``make mutations`` have their places in the product and their tests."""

from __future__ import annotations

import pytest

from baton_local.root import ROOT
from tests import mutations


@pytest.fixture(scope="module")
def sources() -> list[str]:
    """The texts of all files that may have the place of a fault."""
    return [path.read_text(encoding="utf-8") for path in mutations.list_sources(ROOT)]


@pytest.mark.parametrize("mutation", mutations.MUTATIONS, ids=lambda mutation: mutation.old.strip())
def test_a_fault_has_one_place_and_its_tests(mutation: mutations.Mutation, sources: list[str]) -> None:
    assert sum(text.count(mutation.old) for text in sources) == 1
    assert mutations.tests_of(ROOT, mutation)
