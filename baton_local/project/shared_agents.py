"""The agents' files, which all functions of the local cloud share so that hot reload can exchange them.

Deployed functions read their files once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from baton import composition
from baton.authoring.errors import CannotLoad
from baton.composition import deployed_ports
from baton.composition.startup import event_loop
from baton.composition.startup.environment import current

if TYPE_CHECKING:
    from baton.adapters.agents.agent_files import AgentFiles

CLOSING_SECONDS = 10.0
"""The longest time that the local cloud waits for resources of tools to be closed."""

logger = logging.getLogger("baton_local")


def read_agents() -> AgentFiles:
    """Read the files as they are now. Raises ``AgentFileError``."""
    from baton.adapters.agents.agent_files import AgentFiles
    from baton.settings.resources import AgentSettings

    settings = AgentSettings()
    return AgentFiles.load(settings.agents_dir, settings.default_agent)


def share_agents(functions: Iterable[str]) -> None:
    """Give the functions with these names the agents of this process, before they are loaded.

    Raises ``AgentFileError``.
    """
    files = get_shared_agents()
    for name in functions:
        token = current.set(name)
        try:
            deployed_ports().agent_files = files
        finally:
            current.reset(token)


def get_shared_agents() -> AgentFiles:
    """Return the agents of this process, which functions share. ``AgentFiles.take`` changes them for all functions."""
    return deployed_ports().agent_files


@dataclass(frozen=True)
class UnusableFunction:
    """A function of an agent, such as a tool, that cannot be used."""

    place: str
    """The place of the declaration, as ``file:line: field``."""
    entry_point: str | None
    """The name by which it is imported; None for a function in the agent's own file."""
    problem: Exception
    name: str | None = None
    """The name of a tool; None for another function."""

    def describe(self, why: str) -> str:
        """Return a line with the reason ``why`` it cannot be used. `baton check` prints the same line for a tool."""
        return f"{self.place}: {self.name} cannot be used: {why.rstrip('.')}." if self.name else f"{self.place}: {why}"


def find_unusable_functions(files: AgentFiles) -> list[UnusableFunction]:
    """Load the functions that agents have, and return those that fail."""
    from baton.adapters.tools.python_tools import PythonTools
    from baton.composition.outside_clients import make_functions
    from baton.domain.agents.tool import PythonTool

    functions, unusable = make_functions(), []
    source = PythonTools(functions)
    for agent in files.all():
        for tool in (tool for tool in agent.tools if isinstance(tool, PythonTool)):
            try:
                event_loop.run(source.list_tools(tool))
            except Exception as problem:  # noqa: BLE001  the code of a tool may raise anything
                entry_point = tool.entry_point if tool.function is None else None
                unusable.append(
                    UnusableFunction(files.find_tool_position(tool) or tool.name, entry_point, problem, tool.name)
                )
        for function, arguments in agent.code.functions:
            try:
                functions.check(function, arguments)
            except CannotLoad as problem:
                unusable.append(UnusableFunction(files.find_function_position(function), None, problem))
    return unusable


def close_resources() -> None:
    """Close the resources that tools have opened. Failures are logged, so that the cloud can stop."""
    try:
        event_loop.begin(composition.close_resources()).result(CLOSING_SECONDS)
    except Exception:
        logger.exception("Resources of tools could not be closed")
