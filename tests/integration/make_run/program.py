"""The local cloud as a separate program, as ``make run`` starts it, but for the imports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from baton_local.settings import default_cache_dir
from tests.environment import DEVELOPERS_ENVIRONMENT
from tests.forked_program import ForkedProgram


def environment(template: Path, **settings: str) -> dict[str, str]:
    """Return a developer's environment with these settings. Baton's pages are off."""
    stored = {
        "BATON_CACHE_DIR": str(default_cache_dir()),
        "BATON_LOCAL_TEMPLATE": str(template),
        "BATON_LOCAL_DOCS": "0",
    }
    return {**DEVELOPERS_ENVIRONMENT, **stored, **settings}


@contextmanager
def running(
    template: Path, until: str = "Baton is running at ", **settings: str
) -> Iterator[tuple[ForkedProgram, str]]:
    """Start it; yield the process and the URL that it prints, once it has printed a line that begins with ``until``."""
    with ForkedProgram("baton_local", environment(template, **{"PORT": "0", **settings})) as process:
        try:
            line = next((line for line in process.stdout if line.startswith(until)), None)
            assert line, f"It has ended: {process.communicate()[1]}"
            yield process, line.removeprefix(until).split(" ")[0].strip()
        finally:
            process.kill()


def kill_everything(process: ForkedProgram) -> None:
    """Kill the whole tree, as ``kill -9`` does: no process may end its children in good order."""
    tree = [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]
    for program in tree:
        program.suspend()
    for program in tree:
        program.kill()
