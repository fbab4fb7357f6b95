"""Temporary folders go with their run, or with the next one."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from baton_local.run_folders import YOUNG_SECONDS, RunFolder, remove_left


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def grow_old(folder: Path) -> None:
    then = folder.stat().st_mtime - 2 * YOUNG_SECONDS
    os.utime(folder, (then, then))


def test_a_folder_is_removed_with_what_is_in_it() -> None:
    folder = RunFolder("search")
    (folder.path / "index").mkdir()
    (folder.path / "index" / "file").touch()
    folder.remove()
    folder.remove()
    assert not folder.path.exists()


def test_a_killed_run_leaves_a_folder_that_the_next_one_removes(temporary: Path) -> None:
    killed = "import os; from baton_local.run_folders import RunFolder; RunFolder('search'); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", killed], env={**os.environ, "TMPDIR": str(temporary)}, check=False)
    [remaining] = temporary.iterdir()
    grow_old(remaining)
    remove_left("search")
    assert not remaining.exists()


def test_folders_of_living_runs_and_of_others_stay(temporary: Path) -> None:
    living, unknown = RunFolder("search"), temporary / "baton-search-unknown"
    unknown.mkdir()
    (unknown / "file").touch()
    for item in (living.path, unknown):
        grow_old(item)
    remove_left("search")
    assert living.path.exists()
    assert unknown.exists()
    living.remove()
