"""Packages that the local cloud downloads when it needs them, in the versions and with the checksums of the lock file.

They are large: Java, and the runtime of the sentence encoder with its weights. As requirements they would be in the
environment of every project. All projects of a machine share the folder of downloads.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from packaging.markers import Marker

from baton_local.engines.downloads import assemble_once
from baton_local.errors import EngineFailed
from baton_local.root import ROOT

ANY_PYTHON = "py3-none-"
"""A part of the file names of wheels for all versions of Python."""


def fetch(names: Sequence[str], cache_dir: Path, *, purpose: str, progress: Callable[[str], None]) -> Path:
    """Download the packages once and make them importable in this process. Return their folder.

    The folder is named by the packages and their versions. ``purpose`` describes the packages to the developer. Raises
    ``EngineFailed`` when they cannot be downloaded.
    """
    packages = _read_lock_file()
    versions = [f"{name}-{packages[name]['version']}" for name in names]
    is_for_any_python = all(ANY_PYTHON in wheel["url"] for wheel in packages[names[0]]["wheels"])
    python_tag = [] if is_for_any_python else [str(sys.implementation.cache_tag)]

    def download(folder: Path) -> None:
        progress(f"Downloading {purpose} from the package index (once for all projects) ...")
        _install([format_requirement(name) for name in names], folder, purpose)

    folder = assemble_once("-".join([*versions, *python_tag]), cache_dir, download)
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # last, so that packages of the environment take precedence
    return folder


def format_requirement(name: str) -> str:
    """Return the line of a requirements file for a package: the locked version and the checksums of its wheels."""
    package = _read_lock_file()[name]
    hashes = " ".join(f"--hash={wheel['hash']}" for wheel in package["wheels"])
    return f"{name}=={package['version']} {hashes}"


def _read_lock_file() -> dict[str, Any]:
    """Return the packages of the lock file by name, in the versions for this Python."""
    entries = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    return {
        entry["name"]: entry
        for entry in entries
        if any(Marker(marker).evaluate() for marker in entry.get("resolution-markers", ["python_version > '3'"]))
    }


def _find_installer() -> list[str]:
    """Return the command ``uv pip install`` or ``pip install`` of this environment."""
    if uv := os.environ.get("UV") or shutil.which("uv"):
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    return [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def _install(lines: Sequence[str], folder: Path, purpose: str) -> None:
    """Install packages into ``folder``. Raises ``EngineFailed``."""
    requirements = folder / "requirements.txt"
    requirements.write_text("\n".join([*lines, ""]))
    installer = _find_installer()
    options = ("--no-deps", "--require-hashes", "--only-binary", ":all:")
    command = [*installer, *options, "--target", str(folder), "--requirement", str(requirements)]
    try:
        completed = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as problem:
        raise EngineFailed(f"{installer[0]} cannot be run ({problem.strerror}): is UV right?") from problem
    if completed.returncode != 0:
        raise EngineFailed(
            f"The package index did not give {purpose}:\n{completed.stderr.strip()}\n"
            "It is needed once and then kept; check the network connection and try again."
        )
