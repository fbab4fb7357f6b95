"""Steps of a release that are the same each time: `python .ci/release.py --help`. docs/how-to/release.md explains them.

They need Python 3.11 and Git. `reserve` also needs uv, and the files that `make web` builds.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import release_files

ROOT = Path(__file__).resolve().parents[1]
DISTRIBUTIONS = (
    "pyproject.toml",
    "clients/python/pyproject.toml",
    "extraction/pyproject.toml",
    "channels/slack/pyproject.toml",
)
OTHER_VERSIONS = ("shared/baton/__init__.py", "README.md")
"""Further files that contain the version."""
BUILT = ("clients/web/dist", "clients/web/console/dist")
"""Folders of a wheel that `make web` builds and that are not in Git."""
UPGRADE = "docs/how-to/upgrade.md"
BREAKS = "tests/upgrade/records/breaks.toml"
"""The data that the previous release cannot read."""
SIGNERS = ".github/allowed_signers"
VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc|\.dev)\d+)?")


class CannotRelease(Exception):
    """A step cannot be carried out. The message says what must be done first."""


def main(arguments: list[str]) -> None:
    """Carry out the step that the arguments name. Raises ``CannotRelease``."""
    parser = argparse.ArgumentParser(prog=".ci/release.py")
    steps = parser.add_subparsers(dest="step", required=True)
    step = steps.add_parser("address", help="write the repository's address into the metadata of the distributions")
    step.add_argument("url", help="such as https://github.com/OWNER/baton")
    step = steps.add_parser("version", help="set the version of all distributions, and date the changelog")
    step.add_argument("number", help="such as 0.1.0")
    step = steps.add_parser("check", help="check that the files fit a tag")
    step.add_argument("tag", help="such as v0.1.0")
    step = steps.add_parser("notes", help="print the changelog of a version")
    step.add_argument("number")
    step = steps.add_parser("reserve", help="upload a development release, so that nobody else takes the names")
    step.add_argument("--number", default="0.1.0.dev1", help="the development release's version")
    step.add_argument("--yes", action="store_true", help="upload it; otherwise it is only built")
    steps.add_parser("pack", help="add the bill of materials and checksums to dist/")
    step = steps.add_parser("sign", help="sign the checksums of a folder, and verify its files")
    step.add_argument("folder", type=Path)
    step.add_argument("--key", type=Path, required=True, help="the SSH key that signs tags")
    step = steps.add_parser("verify", help="verify the files of a release by their signature")
    step.add_argument("folder", type=Path)
    chosen = parser.parse_args(arguments)
    match chosen.step:
        case "pack":
            pack(ROOT, ROOT / "dist")
        case "sign":
            release_files.sign(chosen.folder, chosen.key)
            verify(ROOT, chosen.folder)
        case "verify":
            verify(ROOT, chosen.folder)
        case "address":
            set_address(ROOT, chosen.url)
        case "version":
            set_version(ROOT, chosen.number)
            lock(ROOT)
            print("Now: make setup client && .venv/bin/python -m baton_local.generation && make all")
        case "check":
            if problems := list(find_problems(ROOT, chosen.tag)):
                raise CannotRelease("\n".join(problems))
            print(f"The files fit {chosen.tag}.")
        case "notes":
            print(read_notes(ROOT, chosen.number))
        case "reserve":
            reserve(chosen.number, uploads=chosen.yes)


def set_address(root: Path, url: str) -> None:
    """Write ``[project.urls]`` of every distribution. Raises ``CannotRelease`` if ``url`` is not an address."""
    if not re.fullmatch(r"https://[\w.-]+(?:/[\w.-]+)+", url):
        raise CannotRelease(f"{url!r} is no address of a repository, such as https://github.com/OWNER/baton.")
    table = (
        "[project.urls]\n"
        f'Source = "{url}"\n'
        f'Documentation = "{url}/tree/main/docs"\n'
        f'Changelog = "{url}/blob/main/CHANGELOG.md"\n'
        f'Issues = "{url}/issues"\n'
    )
    for name in DISTRIBUTIONS:
        text = (root / name).read_text()
        without = re.sub(r"\[project\.urls\]\n(?:[^\[\n].*\n)*\n?", "", text)
        (root / name).write_text(without.replace("[build-system]", f"{table}\n[build-system]", 1))


def set_version(root: Path, number: str) -> None:
    """Set the version of all distributions, which depend on each other, and date the changelog.

    The changelog is not changed for a development release. Raises ``CannotRelease`` if ``number`` is not a version.
    """
    if not VERSION.fullmatch(number):
        raise CannotRelease(f"{number!r} is no version, such as 0.1.0 or 0.2.0rc1.")
    old = read_version(root, DISTRIBUTIONS[0])
    for name in DISTRIBUTIONS:
        text = (root / name).read_text()
        text = re.sub(r'(?m)^version = ".*"$', f'version = "{number}"', text, count=1)
        own = r'"(baton-(?:client(?:\[command\])?|documents))==[^"]+"'
        (root / name).write_text(re.sub(own, rf'"\1=={number}"', text))
    for name in OTHER_VERSIONS:
        (root / name).write_text((root / name).read_text().replace(old, number))
    guide = (root / UPGRADE).read_text()  # its notes about earlier versions are kept
    (root / UPGRADE).write_text(guide.replace(f"=={old}", f"=={number}"))
    if ".dev" not in number:
        changes = root / "CHANGELOG.md"
        heading = f"## [{number}] - {datetime.now(UTC):%Y-%m-%d}"
        dated = re.sub(r"(?m)^## (?:\[Unreleased\]|\[.*\] - Unreleased)$", heading, changes.read_text(), count=1)
        changes.write_text(dated)


def pack(root: Path, folder: Path) -> None:
    """Add the bill of materials and the checksums to the distributions in ``folder``.

    Raises ``CannotRelease`` if a distribution is missing, or if ``folder`` contains another file.
    """
    if gaps := list(release_files.find_gaps(folder, read_version(root, DISTRIBUTIONS[0]))):
        raise CannotRelease("\n".join(gaps))
    release_files.write_bill(root, folder, _uv())
    release_files.write_checksums(folder)
    print(f"{folder} has all files of a release. `.ci/release.py sign` signs them.")


def verify(root: Path, folder: Path) -> None:
    """Verify the files of a release. Raises ``CannotRelease`` unless a trusted key has signed all of them."""
    if problems := list(release_files.find_faults(folder, root / SIGNERS)):
        raise CannotRelease("\n".join(problems))
    print(f"The files in {folder} are those that were signed.")


def lock(root: Path) -> None:
    """Update the lock file, which contains the distributions' versions."""
    subprocess.run([_uv(), "lock", "--quiet", "--directory", root], check=True)


def read_version(root: Path, name: str) -> str:
    """Return the version that a distribution declares."""
    return str(tomllib.loads((root / name).read_text())["project"]["version"])


def find_problems(root: Path, tag: str) -> Iterator[str]:
    """Yield a line for each problem that prevents a release of this tag, with the remedy."""
    number = tag.removeprefix("v")
    if not tag.startswith("v") or not VERSION.fullmatch(number):
        yield f"{tag!r} is no tag of a release, such as v0.1.0."
        return
    for name in DISTRIBUTIONS:
        declared = tomllib.loads((root / name).read_text())["project"]
        if declared["version"] != number:
            yield f"{name} has version {declared['version']}: run `python .ci/release.py version {number}`."
        if not declared.get("urls"):
            yield f"{name} has no addresses: run `python .ci/release.py address https://github.com/OWNER/baton`."
    if not re.search(rf"(?m)^## \[{re.escape(number)}\] - \d{{4}}-\d\d-\d\d$", (root / "CHANGELOG.md").read_text()):
        yield f"CHANGELOG.md has no dated section of {number}: run `python .ci/release.py version {number}`."

    headings = re.findall(r"(?m)^### (.+)$", (root / UPGRADE).read_text())
    if tomllib.loads((root / BREAKS).read_text()) and number not in headings:
        yield f"{BREAKS} is not empty, and {UPGRADE} has no note `### {number}`: say what to do before going back."


def read_notes(root: Path, number: str) -> str:
    """Return the changelog's section of a version, without its heading. Raises ``CannotRelease`` if it is missing."""
    match = re.search(
        rf"(?ms)^## \[{re.escape(number)}\][^\n]*\n(?P<notes>.*?)(?=^## \[|\Z)", (root / "CHANGELOG.md").read_text()
    )
    if match is None:
        raise CannotRelease(f"CHANGELOG.md has no section of {number}.")
    return match["notes"].strip()


def reserve(number: str, *, uploads: bool) -> None:
    """Build a development release of the present files in dist/reserved, and upload it if ``uploads``.

    It contains all of Baton, because package indices remove empty packages. Raises ``CannotRelease``.
    """
    if ".dev" not in number:
        raise CannotRelease(f"{number} is no development release, such as 0.1.0.dev1: names are reserved by one.")
    wheels = ROOT / "dist" / "reserved"
    shutil.rmtree(wheels, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        _copy_tree(copy)
        set_version(copy, number)
        lock(copy)
        for name in DISTRIBUTIONS:
            build = [_uv(), "build", "--quiet", "--out-dir", wheels, (copy / name).parent]
            subprocess.run(build, check=True)
    files = sorted(path for path in wheels.iterdir() if path.suffix in {".whl", ".gz"})
    print("\n".join(f"{path.relative_to(ROOT)}  {path.stat().st_size:,} bytes" for path in files))
    if not uploads:
        print("Built, not uploaded. With UV_PUBLISH_TOKEN set to a token of the index, --yes uploads them.")
    elif "UV_PUBLISH_TOKEN" not in os.environ:
        raise CannotRelease("Nothing was uploaded: set UV_PUBLISH_TOKEN to a token of the index.")
    else:
        subprocess.run([_uv(), "publish", *files], check=True)


def _copy_tree(target: Path) -> None:
    """Copy the present files that are in Git, and those that `make web` has built. Raises ``CannotRelease``."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    for name in BUILT:
        if not (ROOT / name).is_dir():
            raise CannotRelease(f"{name} is not built: run `make web`.")
        shutil.copytree(ROOT / name, target / name, dirs_exist_ok=True)


def _uv() -> str:
    private = ROOT / ".baton" / "tools" / "bin" / "uv"
    return os.environ.get("UV") or shutil.which("uv") or str(private)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except CannotRelease as problem:
        sys.exit(str(problem))
