"""Agents from files in YAML and modules in Python. Errors name file, line and field."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from baton.adapters.agents.yaml_document import YamlDocument, YamlFileError
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_checks import check_agent, library_problems, reference_problems
from baton.domain.agents.tool import PythonTool, ToolDefinition
from baton.domain.definition import AGENT_ID

if TYPE_CHECKING:
    from baton.authoring.call_site import CallSite

DEFAULT_VARIABLE = "BATON_DEFAULT_AGENT"
FOLDER_VARIABLE = "BATON_AGENTS_DIR"
LIBRARIES = "libraries"
"""The folder of the project's libraries, beside the agents' folder."""
LIBRARIES_FILE = "libraries.json"
"""The file with the libraries' names in a built folder of agents, whose project's folders are not there."""


class AgentFileError(Exception):
    """The agent files cannot be used; the message lists every problem as ``file:line: field: what is wrong``."""


@dataclass(frozen=True, slots=True)
class _Read:
    source: YamlDocument | CallSite
    """The text that declares the agent."""
    file: str
    definition: AgentDefinition
    is_described: bool = True
    """Whether its author has described it. Agents in Python may leave that out."""


class AgentFiles:
    """``ShippedAgents`` over a folder: files in YAML, one agent each, and modules whose variables are agents."""

    def __init__(self, definitions: Sequence[AgentDefinition], default_main: str | None = None) -> None:
        """``default_main`` is the id that ``BATON_DEFAULT_AGENT`` names; None: the only main agent is the default."""
        self._by_id = {definition.id: definition for definition in definitions}
        self._default = _default(definitions, default_main)
        self._sources: dict[str, YamlDocument | CallSite] = {}
        self.libraries: frozenset[str] = frozenset()

    def take(self, newer: AgentFiles) -> None:
        """Use the agents of ``newer`` from now on. Definitions that were handed out stay as they are."""
        self._default, self._sources, self._by_id = newer._default, newer._sources, newer._by_id
        self.libraries = newer.libraries

    @classmethod
    def load(cls, folder: Path, default_main: str | None = None) -> AgentFiles:
        """Read ``*.yaml`` and ``*.py`` in ``folder``. Raises ``AgentFileError`` with all problems of all files."""
        problems: list[str] = []
        read = [*_read_documents(folder, problems), *_read_modules(folder, problems)]
        if not read and not problems:
            raise AgentFileError(f"{folder}: no agent files (*.yaml, *.py) here; {FOLDER_VARIABLE} names their folder.")
        is_whole = not problems  # otherwise an agent that cannot be read may be the one that is missed
        agents: dict[str, _Read] = {}
        for one_read in read:
            earlier = agents.setdefault(one_read.definition.id, one_read)
            if earlier is not one_read:
                what = f"{earlier.file} defines the agent {one_read.definition.id!r} too: give one of them another id"
                problems.append(one_read.source.problem(["id"], what))
        libraries = library_names(folder)
        if is_whole:
            problems += [problem for read in read for problem in _reference_problems(read, agents, libraries)]
        if problems:
            raise AgentFileError("\n".join(problems))
        files = cls([read.definition for read in read], default_main)
        files._sources = {read.definition.id: read.source for read in read}
        files.libraries = libraries
        return files

    def place_of_tool(self, tool: ToolDefinition) -> str | None:
        """Return where a tool is written, as ``file:line: field``; None: in no file."""
        if isinstance(tool, PythonTool) and tool.function is not None:
            return self.place_of_function(tool.function)
        for definition in self._by_id.values():
            for number, declared in enumerate(definition.tools):
                if declared is tool and definition.id in self._sources:
                    return self._sources[definition.id].where(["tools", number])
        return None

    def place_of_function(self, function: Callable[..., Any]) -> str:
        """Return where a function is written, as ``file:line``; its name if it has no source."""
        code = getattr(inspect.unwrap(function), "__code__", None)
        return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else repr(function)

    def place_of(self, agent: AgentDefinition, *field: str | int) -> str:
        """Return where a field of an agent is written, as ``file:line: field``; its id if it is in no file."""
        source = self._sources.get(agent.id)
        return source.where(field) if source is not None else agent.id

    def get(self, agent_id: str) -> AgentDefinition | None:
        return self._by_id.get(agent_id)

    def all(self) -> list[AgentDefinition]:
        return sorted(self._by_id.values(), key=lambda definition: definition.id)

    def default_main(self) -> AgentDefinition:
        return self._default


def _default(definitions: Sequence[AgentDefinition], named: str | None) -> AgentDefinition:
    """Return the main agent of conversations that name none. Raises ``AgentFileError``."""
    mains = [definition for definition in definitions if definition.main]
    if not mains:
        raise AgentFileError(
            "No agent has `main: true`, so no conversation can begin, and there is nothing that "
            f"{DEFAULT_VARIABLE} could name. Add it to the file of one of: {_ids(definitions)}"
        )
    if named:
        chosen = next((definition for definition in mains if definition.id == named), None)
        if chosen is None:
            raise AgentFileError(
                f"{DEFAULT_VARIABLE} (in a project, `default_agent` in pyproject.toml) is {named!r}, which is no agent "
                f"with `main: true`. There are: {_ids(mains)}"
            )
        return chosen
    if len(mains) > 1:
        raise AgentFileError(
            f"Several agents have `main: true`: set {DEFAULT_VARIABLE} (in a deployment the parameter DefaultAgent) to "
            f"the one that answers where a conversation names none. There are: {_ids(mains)}"
        )
    return mains[0]


def _ids(definitions: Sequence[AgentDefinition]) -> str:
    return ", ".join(definition.id for definition in definitions)


def _read_documents(folder: Path, problems: list[str]) -> Iterator[_Read]:
    for path in sorted(folder.glob("*.yaml")):
        try:
            document, definition = read_agent(path)
        except AgentFileError as error:
            problems.append(str(error))
        else:
            yield _Read(document, path.name, definition)


def _read_modules(folder: Path, problems: list[str]) -> Iterator[_Read]:
    if not any(folder.glob("*.py")):
        return  # projects without agents in Python need none of what reads them
    from baton.adapters.agents.agent_modules import AgentModuleError, read_modules

    try:
        for agent in read_modules(folder):
            yield _Read(agent.site, agent.site.file.name, agent.definition, agent.is_described)
    except AgentModuleError as error:
        problems.append(str(error))


def library_names(folder: Path) -> frozenset[str]:
    """Return the names of the project's libraries: the folders in ``libraries/`` beside the agents' ``folder``."""
    built = folder / LIBRARIES_FILE
    if built.is_file():
        return frozenset(json.loads(built.read_text(encoding="utf-8")))
    folders = (library.name for library in folder.absolute().parent.glob(f"{LIBRARIES}/*") if library.is_dir())
    return frozenset(name for name in folders if re.fullmatch(AGENT_ID, name))


def _reference_problems(read: _Read, agents: Mapping[str, _Read], libraries: Collection[str]) -> Iterator[str]:
    definition = read.definition
    definitions = {agent_id: agent.definition for agent_id, agent in agents.items()}
    for problem in (*reference_problems(definition, definitions), *library_problems(definition, libraries)):
        yield read.source.problem(problem.place, problem.what)
    sub_agents = [(("sub_agents", index), agent_id) for index, agent_id in enumerate(definition.sub_agents)]
    # The reason of a handoff says it as well.
    receivers = [
        (("handoffs", index), handoff.agent) for index, handoff in enumerate(definition.handoffs) if not handoff.reason
    ]
    for position, agent_id in (*sub_agents, *receivers):
        if agent_id in agents and not agents[agent_id].is_described:
            reader = f"the model of {definition.id!r}"
            what = f"{agent_id!r} has no description, from which {reader} knows when to turn to it"
            yield read.source.problem(position, what)


def read_agent(path: Path) -> tuple[YamlDocument, AgentDefinition]:
    """Read one agent file. Raises ``AgentFileError`` with all its problems."""
    try:
        document = YamlDocument.read(path)
    except YamlFileError as error:
        raise AgentFileError(str(error)) from None
    definition, problems = check_agent(document.values)
    if problems or definition is None:
        raise AgentFileError("\n".join(document.problem(problem.place, problem.what) for problem in problems))
    return document, definition
