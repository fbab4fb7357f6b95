"""Every generated module with its text, so that one function serves the command and the test that compares."""

from pathlib import Path

from generation import conditions, models, synchronous


def generated(package: Path) -> dict[Path, str]:
    """Return the text of each generated module of the package in the folder ``package``, formatted as committed."""
    return {
        package / "models" / "served.py": models.text(),
        package / "conditions.py": conditions.text(),
        **synchronous.texts(package),
    }
