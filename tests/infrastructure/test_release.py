"""The steps of a release, over a copy of the files that they read and write."""

from __future__ import annotations

import runpy
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from baton_local.root import ROOT

STEPS: dict[str, Any] = runpy.run_path(str(ROOT / ".ci/release.py"))
ADDRESS = "https://github.com/somebody/baton"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that a release changes."""
    for name in (*STEPS["DISTRIBUTIONS"], *STEPS["OTHER_VERSIONS"], "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


def declared(root: Path, name: str) -> dict[str, Any]:
    """A distribution's declaration."""
    project: dict[str, Any] = tomllib.loads((root / name).read_text())["project"]
    return project


def test_a_version_is_set_everywhere_and_the_changelog_dated(copy: Path) -> None:
    STEPS["set_version"](copy, "7.8.9")
    assert {declared(copy, name)["version"] for name in STEPS["DISTRIBUTIONS"]} == {"7.8.9"}
    assert {"baton-client[command]==7.8.9", "baton-documents==7.8.9"} <= set(
        declared(copy, "pyproject.toml")["dependencies"]
    )
    assert 'return "7.8.9"' in (copy / "shared/baton/__init__.py").read_text()
    assert STEPS["read_notes"](copy, "7.8.9")
    assert "Unreleased" not in (copy / "CHANGELOG.md").read_text().partition("\n## [")[2][:40]


def test_the_addresses_are_written_once(copy: Path) -> None:
    for url in ("https://github.com/nobody/baton", ADDRESS):
        STEPS["set_address"](copy, url)
    for name in STEPS["DISTRIBUTIONS"]:
        urls = declared(copy, name)["urls"]
        assert urls["Source"] == ADDRESS
        assert all(url.startswith(ADDRESS) for url in urls.values())


def test_a_check_names_what_a_release_lacks_and_then_passes(copy: Path) -> None:
    problems = "\n".join(STEPS["find_problems"](copy, "v7.8.9"))
    assert "release.py version 7.8.9" in problems
    assert "release.py address" in problems
    STEPS["set_address"](copy, ADDRESS)
    STEPS["set_version"](copy, "7.8.9")
    assert list(STEPS["find_problems"](copy, "v7.8.9")) == []
    assert list(STEPS["find_problems"](copy, "7.8.9")) == ["'7.8.9' is no tag of a release, such as v0.1.0."]


@pytest.mark.parametrize("url", ["http://github.com/somebody/baton", "github.com/x", 'https://x.test/a"b'])
def test_what_is_no_address_is_refused(copy: Path, url: str) -> None:
    with pytest.raises(STEPS["CannotRelease"], match="is no address"):
        STEPS["set_address"](copy, url)


def test_names_are_reserved_by_development_releases_only() -> None:
    with pytest.raises(STEPS["CannotRelease"], match="no development release"):
        STEPS["reserve"]("0.1.0", uploads=False)
