"""A project as `baton new` makes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from baton.composition.startup.environment import current
from baton_project.new import make
from baton_project.project import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A new project, in a separate execution environment: what it has built is not another test's."""
    for name in ("BATON_AGENTS_DIR", "BATON_ALLOWED_HOSTS", "BATON_DEFAULT_AGENT", "BATON_TOOL_PACKAGES"):
        monkeypatch.delenv(name, raising=False)
    make(tmp_path / "my-shop")
    token = current.set(str(tmp_path))
    yield Project.find(tmp_path / "my-shop")
    current.reset(token)


def edit(file: Path, old: str, new: str) -> None:
    """Replace a text of a file that has it."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
