"""Hot reload: the agents' files and the tools' code as they are now, for the next turn.

Functions go on as they are, with their connections and running turns. What they have in common is the catalog of
agents, which is exchanged. A running turn keeps the definitions that it began with, and a definition its tools.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from watchfiles import watch

from baton.adapters.agent_files import AgentFileError
from baton.adapters.python_tools import CannotLoad
from baton.composition import checks, event_loop, reloading
from baton.composition.reloading import UnusableFunction
from baton_local.project_tools import ToolsDoNotImport, imported_anew, told

logger = logging.getLogger("baton_local")

GATHER_MS = 150
"""Milliseconds in which changes count as one: editors write a file in several steps."""
STEP_MS = 50


class NotUsable(Exception):
    """Functions that agents name as tools cannot be used. The message has a line for each."""


class Reloader:
    """Watches the folders of agents and tools. What cannot be used changes nothing, and is told until it is mended."""

    def __init__(self, agents: Path, tools: Path | None, progress: Callable[[str], None]) -> None:
        """``tools`` is a folder of packages on the module path."""
        self._agents = agents
        self._tools = tools if tools is not None and tools.is_dir() else None
        self._files = reloading.shared_agents()
        self._progress = progress
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="reload", daemon=True)
        self._tools_changed = False
        self._unusable: frozenset[str] = frozenset()
        """Entry points that have not worked since the start."""
        self.state: dict[str, Any] = {"version": 1, "problems": []}
        """How often the files were taken over, and why they are not in use as they are now."""

    def start(self) -> None:
        """Begin to watch."""
        self._unusable = frozenset(each.entry_point for each in reloading.unusable_functions(self._files))
        self._thread.start()

    def stop(self) -> None:
        """Watch no more. A repetition is no error."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def reload(self, changed: Iterable[Path]) -> None:
        """Take over the files as they are now, if all of them can be used."""
        self._tools_changed |= any(self._tools is not None and path.is_relative_to(self._tools) for path in changed)
        try:
            newer = reloading.read_agents()
            with self._tools_anew():
                unusable = reloading.unusable_functions(newer)
                if any(each.entry_point not in self._unusable for each in unusable):
                    raise NotUsable("\n".join(map(self._told, unusable)))
        except (AgentFileError, ToolsDoNotImport, NotUsable) as problem:
            problems = str(problem).replace(f"{Path.cwd()}{os.sep}", "")
            self.state["problems"] = problems.splitlines()
            self._progress(f"Not reloaded; what was there before goes on:\n{problems}")
            return
        self._unusable = frozenset(each.entry_point for each in unusable)
        self._tools_changed = False
        self._files.take(newer)
        self.state |= {"version": self.state["version"] + 1, "problems": []}
        self._progress(f"Reloaded: {', '.join(agent.id for agent in newer.all())}")
        for line in event_loop.run(checks.problems()):
            logger.warning("%s", line)

    @contextmanager
    def _tools_anew(self) -> Iterator[None]:
        if self._tools is None or not self._tools_changed:
            yield
            return
        with imported_anew(self._tools):
            yield

    def _told(self, unusable: UnusableFunction) -> str:
        problem = unusable.problem
        why = str(problem) if isinstance(problem, CannotLoad) else told(self._tools or self._agents, problem)
        return f"{unusable.place}: {unusable.entry_point} cannot be used: {why}"

    def _watch(self) -> None:
        for changes in watch(
            *(folder for folder in (self._agents, self._tools) if folder is not None),
            watch_filter=_is_source,
            debounce=GATHER_MS,
            step=STEP_MS,
            stop_event=self._stopped,
            raise_interrupt=False,
        ):
            try:
                self.reload([Path(path) for _, path in changes])
            except Exception:
                logger.exception("The files were not reloaded; what was there before goes on")


def _is_source(_: object, path: str) -> bool:
    """Return whether the file is one of the developer's: editors and Python write files of their own."""
    name = Path(path).name
    return "__pycache__" not in path and not name.startswith(".") and not name.endswith(("~", ".tmp", ".pyc"))
