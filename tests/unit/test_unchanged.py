"""Checks are skipped only while the files that they read are as they were when they passed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests import unchanged
from tests.unchanged import Passed


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(unchanged, "ROOT", tmp_path)
    monkeypatch.setattr(unchanged, "RUNS_ALL", False)
    monkeypatch.setattr(unchanged, "default_cache_dir", lambda: tmp_path / "cache")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("a")
    (tmp_path / "uv.lock").write_text("1")
    unchanged._hash_of.cache_clear()
    return tmp_path


@pytest.mark.parametrize("changed", ["folder/a.txt", "folder/b.txt", "uv.lock"])
def test_a_check_has_passed_until_an_input_changes(project: Path, changed: str) -> None:
    assert not Passed("check", ["folder"])
    Passed("check", ["folder"]).note()
    assert Passed("check", ["folder"])
    assert not Passed("another check", ["folder"])
    (project / changed).write_text("changed")
    unchanged._hash_of.cache_clear()
    assert not Passed("check", ["folder"])


def test_a_command_that_failed_is_run_again(project: Path) -> None:
    tried = project / "tried"
    command = [
        "folder",
        "--",
        "sh",
        "-c",
        f"echo >> {tried}; exit $(test $(wc -l < {tried}) -lt 2 && echo 1 || echo 0)",
    ]
    assert [unchanged.main(command) for _ in range(3)] == [1, 0, 0]
    assert tried.read_text() == "\n\n"


def test_what_nobody_has_asked_for_in_weeks_is_forgotten(project: Path) -> None:
    Passed("old", ["folder"]).note()
    [note] = (project / "cache" / "unchanged").iterdir()
    long_ago = time.time() - unchanged.KEPT_SECONDS - 1
    os.utime(note, (long_ago, long_ago))
    unchanged._forget_old.cache_clear()
    Passed("new", ["folder"]).note()
    assert not Passed("old", ["folder"])
    assert Passed("new", ["folder"])
