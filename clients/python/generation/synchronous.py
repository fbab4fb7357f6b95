"""The synchronous client, which is the asynchronous one without its waiting (``unasync``)."""

import re
import tempfile
from pathlib import Path

import unasync

from generation.formatting import format_code

NAMES = {
    "aclose": "close",
    "aclosing": "closing",
    "aiter_bytes": "iter_bytes",
    "aiter_lines": "iter_lines",
    "aiter": "iter",
    "aread": "read",
    "in_thread": "call_directly",
    "asynchronous": "_generated.synchronous",
    "asyncio": "time",
    "await_result": "require_result",
    "AsyncClient": "Client",
}
WORDS = {"``async ": "``", "``aclose``": "``close``", "``aclosing``": "``closing``", "``AsyncBaton``": "``Baton``"}
"""Words of docstrings and their synchronous forms."""


def write_modules(source: Path) -> dict[Path, str]:
    """Return the modules of ``synchronous`` by their paths in it, made of those in the folder ``source``."""
    with tempfile.TemporaryDirectory() as folder:
        goal = Path(folder)
        names = NAMES | {name: name.removeprefix("Async") for name in _find_own_names(source)}
        rule = unasync.Rule(f"{source}/", f"{goal}/", additional_replacements=names)  # type: ignore[no-untyped-call]
        paths = sorted(source.rglob("*.py"))
        unasync.unasync_files([str(path) for path in paths], [rule])  # type: ignore[no-untyped-call]
        return {
            path.relative_to(source): format_code(_reword((goal / path.relative_to(source)).read_text()))
            for path in paths
        }


def _find_own_names(source: Path) -> set[str]:
    """Return the package's names that begin with ``Async``."""
    return {name for path in source.rglob("*.py") for name in re.findall(r"^class (Async\w+)", path.read_text(), re.M)}


def _reword(text: str) -> str:
    for asynchronous, synchronous in WORDS.items():
        text = text.replace(asynchronous, synchronous)
    return text
