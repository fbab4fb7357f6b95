"""Hostile documents are read again when a file changes that the process which reads them imports."""

from __future__ import annotations

from tests.closures import Project
from tests.extraction.limited import ROOT, read


def test_all_that_a_reading_imports_is_known_beforehand() -> None:
    imported = read(b"<p>Hello</p>", "text/html").imported | read(b"# Hello", "text/markdown").imported
    closure = Project(ROOT).closure(["tests/extraction/limited.py"], follows_processes=True)
    assert closure is not None
    assert imported <= closure
