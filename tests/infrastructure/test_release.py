"""The steps of a release, over a copy of the files that they read and write."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from baton_local.root import ROOT

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(ROOT / ".ci")
    STEPS: dict[str, Any] = runpy.run_path(str(ROOT / ".ci/release.py"))
    FILES: dict[str, Any] = runpy.run_path(str(ROOT / ".ci/release_files.py"))
ADDRESS = "https://github.com/somebody/baton"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that a release changes."""
    for name in (*STEPS["DISTRIBUTIONS"], *STEPS["OTHER_VERSIONS"], "CHANGELOG.md", STEPS["UPGRADE"], STEPS["BREAKS"]):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / STEPS["BREAKS"]).write_text("")
    return tmp_path


def read_declaration(root: Path, name: str) -> dict[str, Any]:
    """A distribution's declaration."""
    project: dict[str, Any] = tomllib.loads((root / name).read_text())["project"]
    return project


def test_a_version_is_set_everywhere_and_the_changelog_dated(copy: Path) -> None:
    STEPS["set_version"](copy, "7.8.9")
    assert {read_declaration(copy, name)["version"] for name in STEPS["DISTRIBUTIONS"]} == {"7.8.9"}
    assert {"baton-client[command]==7.8.9", "baton-documents==7.8.9"} <= set(
        read_declaration(copy, "pyproject.toml")["dependencies"]
    )
    assert 'return "7.8.9"' in (copy / "shared/baton/__init__.py").read_text()
    assert STEPS["read_notes"](copy, "7.8.9")
    assert "Unreleased" not in (copy / "CHANGELOG.md").read_text().partition("\n## [")[2][:40]


def test_the_addresses_are_written_once(copy: Path) -> None:
    for url in ("https://github.com/nobody/baton", ADDRESS):
        STEPS["set_address"](copy, url)
    for name in STEPS["DISTRIBUTIONS"]:
        urls = read_declaration(copy, name)["urls"]
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


def test_a_break_without_a_note_for_the_version_stops_a_release(copy: Path) -> None:
    STEPS["set_address"](copy, ADDRESS)
    STEPS["set_version"](copy, "7.8.9")
    (copy / STEPS["BREAKS"]).write_text('"Thread.status" = "7.8.9"\n')
    [problem] = STEPS["find_problems"](copy, "v7.8.9")
    assert "no note `### 7.8.9`" in problem
    with (copy / STEPS["UPGRADE"]).open("a") as guide:
        guide.write("### 7.8.9\n")
    assert list(STEPS["find_problems"](copy, "v7.8.9")) == []


@dataclass(frozen=True)
class Packed:
    """The files of a release with the key that signs them, and the keys that are trusted."""

    folder: Path
    key: Path
    signers: Path

    def sign(self, name: str) -> None:
        """Sign the files with a new key of this name."""
        key = self.key.with_name(name)
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", key]
        subprocess.run(command, check=True)
        FILES["write_checksums"](self.folder)
        FILES["sign"](self.folder, key)

    def trust(self, name: str, namespace: str) -> None:
        """Trust the key of this name for signatures in a namespace."""
        public = self.key.with_name(f"{name}.pub").read_text()
        self.signers.write_text(f'{name} namespaces="{namespace}" {public}')

    def faults(self) -> list[str]:
        return list(FILES["find_faults"](self.folder, self.signers))


@pytest.fixture
def packed(tmp_path: Path) -> Packed:
    folder = tmp_path / "dist"
    folder.mkdir()
    for name in FILES["DISTRIBUTIONS"]:
        for end in (".tar.gz", "-py3-none-any.whl"):
            (folder / f"{name}-7.8.9{end}").write_text(name)
    return Packed(folder, tmp_path / "key", tmp_path / "allowed_signers")


def test_files_are_verified_by_the_key_that_signed_them(packed: Packed) -> None:
    assert "nothing is verified" in packed.faults()[0]
    packed.sign("maintainer")
    packed.trust("maintainer", "git,baton-release")
    assert packed.faults() == []
    (packed.folder / "baton_slack-7.8.9.tar.gz").write_text("something else")
    (packed.folder / "baton_client-7.8.9.tar.gz").unlink()
    (packed.folder / "baton_other-7.8.9.tar.gz").touch()
    assert packed.faults() == [
        "baton_other-7.8.9.tar.gz was not signed: do not use it.",
        "baton_client-7.8.9.tar.gz is missing: download it again.",
        "baton_slack-7.8.9.tar.gz is not the file that was signed: do not use it.",
    ]


@pytest.mark.parametrize(("signer", "namespace"), [("stranger", "baton-release"), ("maintainer", "git")])
def test_another_key_and_another_purpose_are_refused(packed: Packed, signer: str, namespace: str) -> None:
    for name in dict.fromkeys(["maintainer", signer]):
        packed.sign(name)
    packed.trust("maintainer", namespace)
    [fault] = packed.faults()
    assert "do not use these files" in fault


def test_missing_and_unknown_files_are_named_before_a_release_is_packed(packed: Packed) -> None:
    assert list(FILES["find_gaps"](packed.folder, "7.8.9")) == []
    gaps = list(FILES["find_gaps"](packed.folder, "8.0.0"))
    assert len(gaps) == 16
    assert "baton_client-8.0.0.tar.gz is missing: run `make distributions`." in gaps


def test_the_bill_of_materials_has_every_package_of_the_lock_file_that_ships(packed: Packed) -> None:
    FILES["write_bill"](ROOT, packed.folder, STEPS["_uv"]())
    bill = json.loads((packed.folder / FILES["BILL"]).read_text())
    assert bill["bomFormat"] == "CycloneDX"
    assert {"boto3", "pydantic", "openai"} <= {component["name"] for component in bill["components"]}


@pytest.mark.parametrize("url", ["http://github.com/somebody/baton", "github.com/x", 'https://x.test/a"b'])
def test_what_is_no_address_is_refused(copy: Path, url: str) -> None:
    with pytest.raises(STEPS["CannotRelease"], match="is no address"):
        STEPS["set_address"](copy, url)


def test_names_are_reserved_by_development_releases_only() -> None:
    with pytest.raises(STEPS["CannotRelease"], match="no development release"):
        STEPS["reserve"]("0.1.0", uploads=False)
