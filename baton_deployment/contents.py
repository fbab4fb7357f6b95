"""The contents of a deployment in addition to the product: agents, their documents and code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from baton.adapters.agents.agent_files import AgentFiles
from baton.domain.agents.agent import AgentDefinition


@dataclass(frozen=True)
class Contents:
    """The contents of ``folder`` that are deployed."""

    folder: Path
    """The folder to which paths in messages are relative."""
    agents: AgentFiles
    requirements: tuple[str, ...] = ()
    """The package requirements of the tools, without Baton."""

    @property
    def agents_folder(self) -> Path:
        """The folder of the agents' files."""
        return self.folder / "agents"

    @property
    def documents(self) -> Path:
        """The folder of the agents' documents. It need not exist."""
        return self.folder / "documents"

    @property
    def libraries(self) -> Path:
        """The folder of the project's libraries. It need not exist."""
        return self.folder / "libraries"

    @property
    def code(self) -> tuple[Path, ...]:
        """The folders with code in Python. They need not exist."""
        return self.agents_folder, self.folder / "tools"

    def locate(self, agent: AgentDefinition, *field: str | int) -> str:
        """Return the position of an agent's field as ``file:line: field``, relative to the folder."""
        return self.make_relative(self.agents.find_position(agent, *field))

    def make_relative(self, path: str) -> str:
        """Return a path, which a line number may follow, relative to the folder."""
        return path.removeprefix(f"{self.folder}/")
