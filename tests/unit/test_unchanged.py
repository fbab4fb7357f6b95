"""Checks are skipped only while the files that they read are as they were when they passed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests import unchanged
from tests.unchanged import Notes


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(unchanged, "ROOT", tmp_path)
    monkeypatch.setattr(unchanged, "RUNS_ALL", False)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("a")
    (tmp_path / "uv.lock").write_text("1")
    return tmp_path


@pytest.mark.parametrize("changed", ["folder/a.txt", "folder/b.txt", "uv.lock"])
def test_a_command_has_passed_until_an_input_changes(project: Path, changed: str) -> None:
    tried = project / ".tried"
    command = ["folder", "--", "sh", "-c", f"echo >> {tried}"]
    assert [unchanged.main(command) for _ in range(2)] == [0, 0]
    assert tried.read_text() == "\n"
    (project / changed).write_text("changed")
    assert unchanged.main(command) == 0
    assert tried.read_text() == "\n\n"


def test_a_command_that_failed_is_run_again(project: Path) -> None:
    tried = project / ".tried"
    command = [
        "folder",
        "--",
        "sh",
        "-c",
        f"echo >> {tried}; exit $(test $(wc -l < {tried}) -lt 2 && echo 1 || echo 0)",
    ]
    assert [unchanged.main(command) for _ in range(3)] == [1, 0, 0]
    assert tried.read_text() == "\n\n"


def test_tests_that_pass_later_are_noted_beside_the_others(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    notes.add("key", ["test_b"])
    notes.add("key", ["test_a"])
    assert notes.read() == {"key": ["test_a", "test_b"]}


def test_notes_that_nobody_has_found_in_weeks_are_deleted(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    for key in ("old", "used", "new"):
        notes.add(key, ["test_a"])
    long_ago = time.time() - unchanged.KEPT_SECONDS - 1
    for key in ("old", "used"):
        os.utime(tmp_path / unchanged.NOTES / f"{key}.json", (long_ago, long_ago))
    notes.touch("used")
    assert notes.read().keys() == {"used", "new"}
