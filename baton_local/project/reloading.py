"""Hot reload: the agents' files and the tools' code as they are now, for the next turn.

Functions continue as they are, with their connections and running turns. They share the registry of
agents, which is exchanged. A running turn keeps the definitions that it began with, and a definition its tools.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from baton.adapters.agents.agent_files import AgentFileError
from baton.adapters.agents.agent_modules import describe_code_problem
from baton.authoring.errors import CannotLoad
from baton.authoring.modules import restore_modules_on_failure
from baton.composition import close_replaced_resources
from baton.composition.startup import event_loop
from baton_local.project import checks, shared_agents
from baton_local.project.project_tools import ToolsDoNotImport, find_packages, forget_bytecode, imported_again
from baton_local.project.shared_agents import UnusableFunction

logger = logging.getLogger("baton_local")

PACKAGES = "BATON_TOOL_PACKAGES"


class NotUsable(Exception):
    """An error because functions of agents cannot be used. The message has a line for each."""


class Reloader:
    """The loaded agents and tools. A file that cannot be used changes nothing, and is reported until it is fixed."""

    def __init__(self, agents: Path, tools: Path, progress: Callable[[str], None]) -> None:
        """``tools`` is a folder on the module path, which need not exist."""
        self.folders = (agents, tools)
        self._tools = tools
        self._all_packages = os.environ.get(PACKAGES, "") == ",".join(find_packages(tools))
        """Whether tools may be in all packages, and not only in those that the developer has chosen."""
        self._files = shared_agents.get_shared_agents()
        self._progress = progress
        self._tools_changed = False
        self._unusable: frozenset[str] = frozenset()
        """The names of functions that have not worked since the start."""
        self.state: dict[str, Any] = {"version": 1, "problems": []}
        """The number of reloads, and the reasons why changed files are not in use."""

    def begin(self) -> None:
        """Note the functions that do not work at the start. They do not block later edits."""
        self._unusable = frozenset(map(_identify, shared_agents.find_unusable_functions(self._files)))

    def reload(self, changed: Iterable[Path]) -> None:
        """Take over the files as they are now, unless a file or a function that worked before cannot be used.

        ``changed`` are the paths that have changed. Problems are printed and added to ``state``.
        """
        self._tools_changed |= any(path.is_relative_to(self._tools) for path in changed)
        try:
            forget_bytecode(self.folders[0])
            with self._packages_now(), self._tools_again(), restore_modules_on_failure():
                newer = shared_agents.read_agents()
                unusable = shared_agents.find_unusable_functions(newer)
                if any(_identify(function) not in self._unusable for function in unusable):
                    raise NotUsable("\n".join(map(self._describe, unusable)))
        except (AgentFileError, ToolsDoNotImport, NotUsable) as problem:
            problems = str(problem).replace(f"{Path.cwd()}{os.sep}", "")
            self.state["problems"] = problems.splitlines()
            self._progress(f"Not reloaded; what was there before goes on until this is mended:\n{problems}")
            return
        self._unusable = frozenset(map(_identify, unusable))
        self._tools_changed = False
        self._files.take(newer)
        self.state |= {"version": self.state["version"] + 1, "problems": []}
        self._progress(f"Reloaded: {', '.join(agent.id for agent in newer.all())}")
        event_loop.run(close_replaced_resources())
        for line in event_loop.run(checks.find_problems()):
            logger.warning("%s", line)

    @contextmanager
    def _tools_again(self) -> Iterator[None]:
        if not self._tools_changed:
            yield
            return
        with imported_again(self._tools):
            yield

    @contextmanager
    def _packages_now(self) -> Iterator[None]:
        """Allow tools from the packages that exist now; from the previous ones if the block raises."""
        before = os.environ.get(PACKAGES, "")
        if self._all_packages:
            os.environ[PACKAGES] = ",".join(find_packages(self._tools))
        try:
            yield
        except BaseException:
            os.environ[PACKAGES] = before
            raise

    def _describe(self, unusable: UnusableFunction) -> str:
        """Return a line with the place of a function and the reason why it cannot be used."""
        problem = unusable.problem
        package = (unusable.entry_point or "").partition(":")[0].partition(".")[0]
        if package and self._all_packages and package not in find_packages(self._tools):
            why = f"there is no package {package!r} in {self._tools}"
        else:
            why = str(problem) if isinstance(problem, CannotLoad) else describe_code_problem(problem, self._tools)
        return unusable.describe(why)


def _identify(unusable: UnusableFunction) -> str:
    """Return the name by which a function is imported; that of its file for a function without one."""
    return unusable.entry_point or unusable.place.rpartition(":")[0]
