"""The synchronous client, which is the asynchronous one without its waiting (``unasync``)."""

import tempfile
from pathlib import Path

import unasync

from generation.formatting import formatted

HEAD = "# Generated from ``baton_client.asynchronous`` by ``make client``; do not edit.\n\n"
NAMES = {
    "aclose": "close",
    "aclosing": "closing",
    "aiter_bytes": "iter_bytes",
    "aiter_lines": "iter_lines",
    "aiter": "iter",
    "aread": "read",
    "asynchronous": "synchronous",
    "asyncio": "time",
    "awaited": "unawaited",
    "AsyncIterator": "Iterator",
    "StopAsyncIteration": "StopIteration",
}
PREFIXED = (
    "Agents Audit Baton Client Documents Episodes Events Files Messages Pager "
    "Procedures Resource RunStream Runs Skills Sources SubTasks Tenant Threads Tokens Transport Users Workflows"
).split()


def texts(package: Path) -> dict[Path, str]:
    """Return the modules of ``synchronous``, by their paths, made of those of ``asynchronous``."""
    source = package / "asynchronous"
    with tempfile.TemporaryDirectory() as folder:
        goal = Path(folder)
        names = NAMES | {f"Async{name}": name for name in PREFIXED}
        rule = unasync.Rule(f"{source}/", f"{goal}/", additional_replacements=names)
        paths = sorted(source.rglob("*.py"))
        unasync.unasync_files([str(path) for path in paths], [rule])
        return {
            package / "synchronous" / path.relative_to(source): formatted(
                HEAD + (goal / path.relative_to(source)).read_text(),
                name=f"clients/python/baton_client/synchronous/{path.name}",
            )
            for path in paths
        }
