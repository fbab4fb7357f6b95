"""The release before this one, as a tree of files that can be run."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from baton_local.root import ROOT

RECORDS = Path(__file__).parent / "records"
PYTHON_FOLDERS = ("", "shared", "clients/python", "extraction", "channels/slack")
"""The folders of a tree in which Python finds its packages."""


class ReleaseMissing(Exception):
    """The tree of the previous release cannot be made. The message says what to do."""


@dataclass(frozen=True)
class PreviousRelease:
    """The release that this one follows, as ``records/previous.toml`` names it."""

    name: str
    commit: str

    @classmethod
    def read(cls) -> PreviousRelease:
        """Read the file."""
        return cls(**tomllib.loads((RECORDS / "previous.toml").read_text()))

    @property
    def record(self) -> Path:
        """The file of what this release has stored (``recording``)."""
        return RECORDS / f"{self.name}.json"

    @property
    def schemas(self) -> Path:
        """The file with the JSON Schemas of what this release stores and sends (``schemas``)."""
        return RECORDS / f"{self.name}.schemas.json"

    def make_tree(self) -> Path:
        """Return a folder with the release's files. Raises ``ReleaseMissing``."""
        folder = ROOT / ".baton" / "releases" / self.commit
        if folder.is_dir():
            return folder
        command = ["git", "-C", str(ROOT), "archive", "--format=tar", self.commit]
        archive = subprocess.run(command, capture_output=True, check=False)
        if archive.returncode:
            raise ReleaseMissing(
                f"Git does not have the previous release, {self.commit}: run `git fetch --unshallow --tags`."
            )
        instance = folder.with_suffix(f".{os.getpid()}")
        instance.mkdir(parents=True)
        subprocess.run(["tar", "-x", "-C", str(instance)], input=archive.stdout, check=True)
        try:
            instance.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(instance)
        return folder


def python_path(tree: Path) -> str:
    """Return the value of PYTHONPATH with which Python runs the code of ``tree``."""
    return os.pathsep.join(str(tree / folder) for folder in PYTHON_FOLDERS)
