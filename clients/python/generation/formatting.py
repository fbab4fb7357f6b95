"""Formatting of generated code by the project's own formatter."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def format_code(code: str) -> str:
    """Return the code as ruff would leave it, imports sorted and unused ones removed.

    Raises ``subprocess.CalledProcessError`` if ruff cannot read it.
    """
    ruff = [sys.executable, "-m", "ruff"]
    stdin = ["--quiet", "--stdin-filename", "generated.py", "-"]
    sorting = [*ruff, "check", "--fix-only", "--select", "I,F401,UP,E", *stdin]
    for command in (sorting, [*ruff, "format", *stdin]):
        code = subprocess.run(command, input=code, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return code
