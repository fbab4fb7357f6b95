"""The agents' files in one state for all functions of the local cloud, so that hot reload can exchange them.

Deployed functions read their files once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from baton.composition import deployed_ports, event_loop
from baton.composition.environment import current

if TYPE_CHECKING:
    from baton.adapters.agent_files import AgentFiles


def read_agents() -> AgentFiles:
    """Read the files as they are now. Raises ``AgentFileError``."""
    from baton.adapters.agent_files import AgentFiles
    from baton.settings.resources import AgentSettings

    settings = AgentSettings()
    return AgentFiles.load(settings.agents_dir, settings.default_agent)


def share(functions: Iterable[str]) -> None:
    """Give ``functions`` the agents of this process before they are loaded. Raises ``AgentFileError``."""
    files = shared_agents()
    for name in functions:
        token = current.set(name)
        try:
            deployed_ports().agent_files = files
        finally:
            current.reset(token)


def shared_agents() -> AgentFiles:
    """Return the agents of this process. All functions that share them use what they ``take``."""
    return deployed_ports().agent_files


@dataclass(frozen=True)
class UnusableFunction:
    """A function that an agent has as a tool, and that cannot be used."""

    place: str
    """The place of the declaration, as ``file:line: field``."""
    entry_point: str
    problem: Exception


def unusable_functions(files: AgentFiles) -> list[UnusableFunction]:
    """Load the functions that agents have as tools, and return those that fail."""
    from baton.adapters.python_tools import PythonTools
    from baton.domain.tool import PythonTool
    from baton.settings.resources import OutsideSettings

    source, found = PythonTools(lambda: OutsideSettings().packages), []
    for tool in (tool for agent in files.all() for tool in agent.tools if isinstance(tool, PythonTool)):
        try:
            event_loop.run(source.tools(tool))
        except Exception as problem:  # noqa: BLE001  whatever the code of a tool raises
            place = files.place_of_tool(tool) or tool.name
            found.append(UnusableFunction(place, tool.entry_point, problem))
    return found
