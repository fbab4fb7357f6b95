"""Test modules share their helpers through modules that are not tests, so that each can be read and moved alone."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[2]


def test_no_test_module_imports_another_one() -> None:
    imported = re.compile(r"^\s*(?:from|import) tests\.\S*\btest_\w+", re.M)
    importers = {str(path.relative_to(TESTS)) for path in TESTS.rglob("*.py") if imported.search(path.read_text())}
    assert importers == set()
