"""Variables that a project's ``.env`` names, so that keys and addresses need not be exported in every terminal."""

from __future__ import annotations

import tomllib
from pathlib import Path

from baton_client.command.exits import CommandError, ExitCode

FILE = ".env"
PROJECT = "pyproject.toml"


def find_project_folder(start: Path) -> Path | None:
    """Return the folder of the project that ``start`` is in; ``None`` if it is in none.

    Raises ``CommandError`` for a ``pyproject.toml`` on the way that is not valid, because it may be the project's.
    """
    for folder in (start.resolve(), *start.resolve().parents):
        file = folder / PROJECT
        try:
            settings = tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError:
            continue
        except ValueError as problem:
            raise CommandError(f"{file} cannot be read: {problem}", ExitCode.USAGE) from problem
        if "baton" in settings.get("tool", {}):
            return folder
    return None


def read_variables(folder: Path) -> dict[str, str]:
    """Return the variables of the folder's ``.env``, if it has one. Raises ``CommandError`` if it cannot be read."""
    file = folder / FILE
    if not file.is_file():
        return {}
    # Imported only if there is such a file: every start of the command imports this module.
    from dotenv import dotenv_values

    try:
        # Not interpolated: a folder's file could put a secret of the shell into an address.
        values = dotenv_values(file, encoding="utf-8", interpolate=False)
    except (OSError, ValueError) as problem:
        raise CommandError(f"{file} cannot be read: {problem}", ExitCode.USAGE) from problem
    return {name: value for name, value in values.items() if value}


def read_own_variables(start: Path) -> dict[str, str]:
    """Return the command's variables from the ``.env`` of the project around ``start``. Raises ``CommandError``."""
    folder = find_project_folder(start)
    values = read_variables(folder) if folder is not None else {}
    return {name: value for name, value in values.items() if name.startswith("BATON_")}
