"""Formatting of generated code by the project's own formatter."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def formatted(code: str, *, name: str) -> str:
    """Return the code as ruff would leave it, imports sorted and unused ones removed.

    Raises ``subprocess.CalledProcessError`` if ruff cannot read it. ``name`` is the path that ruff takes rules from.
    """
    ruff = [sys.executable, "-m", "ruff"]
    sorting = [*ruff, "check", "--quiet", "--fix-only", "--select", "I,F401,UP,E", "--stdin-filename", name, "-"]
    for command in (sorting, [*ruff, "format", "--quiet", "--stdin-filename", name, "-"]):
        code = subprocess.run(command, input=code, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return code
