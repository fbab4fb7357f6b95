"""Wait until a local cloud has taken over all edits of a project: ``python settled.py URL FOLDER``.

A reload reads all files as they are, and one that was in progress may have read them before the last edit. The second
reload from now on has begun after it.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from urllib.request import urlopen

PATIENCE_SECONDS = 120
PAUSE_SECONDS = 0.1


def version(url: str) -> int:
    """The number of reloads so far."""
    with urlopen(f"{url}/local/about") as answer:  # noqa: S310 - the address of a test
        return int(json.load(answer)["reload"]["version"])


def touch(file: Path) -> None:
    """Write a file as it is, in one step."""
    draft = file.with_name(f".{file.name}.new")
    draft.write_bytes(file.read_bytes())
    draft.replace(file)


def wait(url: str, folder: Path) -> None:
    """Wait for two reloads. Raises ``TimeoutError``."""
    ends_at = time.monotonic() + PATIENCE_SECONDS
    file = min(file for file in (folder / "agents").iterdir() if file.suffix in {".yaml", ".py"})
    for _ in range(2):
        before = version(url)
        touch(file)
        while version(url) == before:
            if time.monotonic() > ends_at:
                raise TimeoutError(f"{folder} was not reloaded.")
            time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    wait(sys.argv[1], Path(sys.argv[2]))
