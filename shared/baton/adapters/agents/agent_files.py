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
from baton.domain.agents.agent_checks import (
    check_agent,
    find_library_problems,
    find_reference_problems,
    find_sentence_problems,
)
from baton.domain.agents.tool import PythonTool, ToolDefinition
from baton.domain.definition import AGENT_ID

if TYPE_CHECKING:
    from baton.authoring.call_site import CallSite

DEFAULT_VARIABLE = "BATON_DEFAULT_AGENT"
FOLDER_VARIABLE = "BATON_AGENTS_DIR"
LIBRARIES = "libraries"
"""The folder of the project's libraries, beside the agents' folder."""
LIBRARIES_FILE = "libraries.json"
"""The file with the libraries' names in a built folder of agents, which lacks the project's other folders."""


class AgentFileError(Exception):
    """The agent files cannot be used. The message has a line for each problem: ``file:line: field: what is wrong``."""


@dataclass(frozen=True, slots=True)
class _AgentSource:
    source: YamlDocument | CallSite
    """The text that declares the agent."""
    file: str
    definition: AgentDefinition
    is_described: bool = True
    """Whether the agent has a description, which is optional for agents in Python."""


class AgentFiles:
    """``ShippedAgents`` over a folder: files in YAML, one agent each, and modules whose variables are agents."""

    def __init__(self, definitions: Sequence[AgentDefinition], default_main: str | None = None) -> None:
        """``default_main`` is the id of the default agent; None or empty for the only main agent.

        Raises ``AgentFileError`` if there is no such agent.
        """
        self._by_id = {definition.id: definition for definition in definitions}
        self._default = _choose_default(definitions, default_main)
        self._sources: dict[str, YamlDocument | CallSite] = {}
        self.libraries: frozenset[str] = frozenset()

    def take(self, newer: AgentFiles) -> None:
        """Use the agents of ``newer`` from now on. Definitions that ``get`` has returned do not change."""
        self._default, self._sources, self._by_id = newer._default, newer._sources, newer._by_id
        self.libraries = newer.libraries

    @classmethod
    def load(cls, folder: Path, default_main: str | None = None) -> AgentFiles:
        """Read ``*.yaml`` and ``*.py`` in ``folder``.

        Raises ``AgentFileError`` with the problems of all files. References between agents are checked, and a default
        agent is chosen, only if there are no other problems.
        """
        problems: list[str] = []
        sources = [*_read_documents(folder, problems), *_read_modules(folder, problems)]
        if not sources and not problems:
            raise AgentFileError(f"{folder}: no agent files (*.yaml, *.py) here; {FOLDER_VARIABLE} names their folder.")
        is_complete = not problems  # references may name an agent that cannot be read
        agents: dict[str, _AgentSource] = {}
        for agent in sources:
            earlier = agents.setdefault(agent.definition.id, agent)
            if earlier is not agent:
                what = f"{earlier.file} defines the agent {agent.definition.id!r} too: give one of them another id"
                problems.append(agent.source.problem(["id"], what))
        libraries = read_library_names(folder)
        if is_complete:
            problems += [problem for agent in sources for problem in _find_reference_problems(agent, agents, libraries)]
        if problems:
            raise AgentFileError("\n".join(problems))
        files = cls([agent.definition for agent in sources], default_main)
        files._sources = {agent.definition.id: agent.source for agent in sources}
        files.libraries = libraries
        return files

    def find_tool_position(self, tool: ToolDefinition) -> str | None:
        """Return the position of a tool's definition, as ``file:line: field``; None if no file defines the tool."""
        if isinstance(tool, PythonTool) and tool.function is not None:
            return self.find_function_position(tool.function)
        for definition in self._by_id.values():
            for number, declared in enumerate(definition.tools):
                if declared is tool and definition.id in self._sources:
                    return self._sources[definition.id].where(["tools", number])
        return None

    def find_function_position(self, function: Callable[..., Any]) -> str:
        """Return the position of a function, as ``file:line``; its ``repr`` if it has no source."""
        code = getattr(inspect.unwrap(function), "__code__", None)
        return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else repr(function)

    def find_position(self, agent: AgentDefinition, *field: str | int) -> str:
        """Return the position of an agent's field, as ``file:line: field``; the agent's id if no file defines it."""
        source = self._sources.get(agent.id)
        return source.where(field) if source is not None else agent.id

    def get(self, agent_id: str) -> AgentDefinition | None:
        return self._by_id.get(agent_id)

    def all(self) -> list[AgentDefinition]:
        return sorted(self._by_id.values(), key=lambda definition: definition.id)

    def get_default_main(self) -> AgentDefinition:
        return self._default


def _choose_default(definitions: Sequence[AgentDefinition], default_main: str | None) -> AgentDefinition:
    """Return the main agent of conversations that name none. Raises ``AgentFileError``."""
    mains = [definition for definition in definitions if definition.main]
    if not mains:
        raise AgentFileError(
            "No agent has `main: true`, so no conversation can begin, and there is nothing that "
            f"{DEFAULT_VARIABLE} could name. Add `main: true` to the file of one of: {_join_ids(definitions)}"
        )
    if default_main:
        definition = next((definition for definition in mains if definition.id == default_main), None)
        if definition is None:
            raise AgentFileError(
                f"{DEFAULT_VARIABLE} (in a project, `default_agent` in pyproject.toml), read at the start, is "
                f"{default_main!r}, which is no agent with `main: true`. Available: {_join_ids(mains)}"
            )
        return definition
    if len(mains) > 1:
        raise AgentFileError(
            f"Several agents have `main: true`: set {DEFAULT_VARIABLE} (in a deployment the parameter DefaultAgent) to "
            f"the one that answers where a conversation names none. Available: {_join_ids(mains)}"
        )
    return mains[0]


def _join_ids(definitions: Sequence[AgentDefinition]) -> str:
    return ", ".join(definition.id for definition in definitions)


def _read_documents(folder: Path, problems: list[str]) -> Iterator[_AgentSource]:
    """Yield the agents of the files in YAML. Problems are added to ``problems``."""
    for path in sorted(folder.glob("*.yaml")):
        try:
            document, definition = read_agent(path)
        except AgentFileError as error:
            problems.append(str(error))
        else:
            yield _AgentSource(document, path.name, definition)


def _read_modules(folder: Path, problems: list[str]) -> Iterator[_AgentSource]:
    """Yield the agents of the modules in Python. Problems are added to ``problems``."""
    if not any(folder.glob("*.py")):
        return  # before an import that projects without agents in Python do not need
    from baton.adapters.agents.agent_modules import AgentModuleError, read_modules

    try:
        for agent in read_modules(folder):
            yield _AgentSource(agent.site, agent.site.file.name, agent.definition, agent.is_described)
    except AgentModuleError as error:
        problems.append(str(error))


def read_library_names(folder: Path) -> frozenset[str]:
    """Return the names of the project's libraries: the folders in ``libraries/`` beside the agents' ``folder``."""
    built = folder / LIBRARIES_FILE
    if built.is_file():
        return frozenset(json.loads(built.read_text(encoding="utf-8")))
    folders = (library.name for library in folder.absolute().parent.glob(f"{LIBRARIES}/*") if library.is_dir())
    return frozenset(name for name in folders if re.fullmatch(AGENT_ID, name))


def _find_reference_problems(
    agent: _AgentSource, agents: Mapping[str, _AgentSource], libraries: Collection[str]
) -> Iterator[str]:
    """Yield the problems of an agent's references to other ``agents`` and to ``libraries``."""
    definition = agent.definition
    definitions = {agent_id: other.definition for agent_id, other in agents.items()}
    for problem in (
        *find_reference_problems(definition, definitions),
        *find_library_problems(definition, libraries),
        *find_sentence_problems(definition),
    ):
        yield agent.source.problem(problem.place, problem.what)
    sub_agents = [(("sub_agents", index), agent_id) for index, agent_id in enumerate(definition.sub_agents)]
    # A handoff with a reason needs no description of its receiver.
    receivers = [
        (("handoffs", index), handoff.agent) for index, handoff in enumerate(definition.handoffs) if not handoff.reason
    ]
    for position, agent_id in (*sub_agents, *receivers):
        if agent_id in agents and not agents[agent_id].is_described:
            what = (
                f"{agent_id!r} has no description, from which the model of {definition.id!r} knows when to turn to it"
            )
            yield agent.source.problem(position, what)


def read_agent(path: Path) -> tuple[YamlDocument, AgentDefinition]:
    """Return the document and the definition of an agent file. Raises ``AgentFileError`` with all its problems."""
    try:
        document = YamlDocument.read(path)
    except YamlFileError as error:
        raise AgentFileError(str(error)) from None
    definition, problems = check_agent(document.values)
    if problems or definition is None:
        raise AgentFileError("\n".join(document.problem(problem.place, problem.what) for problem in problems))
    return document, definition
