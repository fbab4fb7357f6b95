"""Agents from YAML files. Errors name file, line and field."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from baton.adapters.yaml_document import YamlDocument, YamlFileError
from baton.domain.agent import AgentDefinition
from baton.domain.agent_checks import check_agent, reference_problems
from baton.domain.tool import ToolDefinition

DEFAULT_VARIABLE = "BATON_DEFAULT_AGENT"
FOLDER_VARIABLE = "BATON_AGENTS_DIR"


class AgentFileError(Exception):
    """The agent files cannot be used; the message lists every problem as ``file:line: field: what is wrong``."""


class AgentFiles:
    """``ShippedAgents`` over a folder of YAML files, one agent a file."""

    def __init__(self, definitions: Sequence[AgentDefinition], default_main: str | None = None) -> None:
        """``default_main`` is the id that ``BATON_DEFAULT_AGENT`` names; None: the only main agent is the default."""
        self._by_id = {definition.id: definition for definition in definitions}
        self._default = _default(definitions, default_main)
        self._documents: dict[str, YamlDocument] = {}

    def take(self, newer: AgentFiles) -> None:
        """Have the agents of ``newer`` from now on. Definitions that were handed out stay as they are."""
        self._default, self._documents, self._by_id = newer._default, newer._documents, newer._by_id

    @classmethod
    def load(cls, folder: Path, default_main: str | None = None) -> AgentFiles:
        """Read every ``*.yaml`` in ``folder``. Raises ``AgentFileError`` with all problems of all files at once."""
        paths = sorted(folder.glob("*.yaml"))
        if not paths:
            raise AgentFileError(f"{folder}: no agent files (*.yaml) here; {FOLDER_VARIABLE} names their folder.")
        problems: list[str] = []
        read: list[tuple[YamlDocument, AgentDefinition]] = []
        for path in paths:
            try:
                document, definition = read_agent(path)
            except AgentFileError as error:
                problems.append(str(error))
                continue
            if same := [other.path.name for other, earlier in read if earlier.id == definition.id]:
                what = f"{same[0]} defines the agent {definition.id!r} too: give one of them another id"
                problems.append(document.problem(["id"], what))
            read.append((document, definition))
        if len(read) == len(paths):  # otherwise one that cannot be read may be the one that is missed
            agents = {definition.id: definition for _, definition in read}
            problems += [
                document.problem(problem.place, problem.what)
                for document, definition in read
                for problem in reference_problems(definition, agents)
            ]
        if problems:
            raise AgentFileError("\n".join(problems))
        files = cls([definition for _, definition in read], default_main)
        files._documents = {definition.id: document for document, definition in read}
        return files

    def place_of_tool(self, tool: ToolDefinition) -> str | None:
        """Return where a tool is written, as ``file:line: field``; None: in no file."""
        for definition in self._by_id.values():
            for number, declared in enumerate(definition.tools):
                if declared is tool and definition.id in self._documents:
                    return self._documents[definition.id].where(["tools", number])
        return None

    def place_of(self, agent: AgentDefinition, *field: str | int) -> str:
        """Return where a field of an agent is written, as ``file:line: field``; its id if it is in no file."""
        document = self._documents.get(agent.id)
        return document.where(field) if document is not None else agent.id

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
                f"{DEFAULT_VARIABLE} is {named!r}, which is no agent with `main: true`. There are: {_ids(mains)}"
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


def read_agent(path: Path) -> tuple[YamlDocument, AgentDefinition]:
    """Read one agent file. Raises ``AgentFileError`` with all its problems."""
    try:
        document = YamlDocument.read(path)
    except YamlFileError as error:
        raise AgentFileError(str(error)) from None
    definition, found = check_agent(document.values)
    if found or definition is None:
        raise AgentFileError("\n".join(document.problem(problem.place, problem.what) for problem in found))
    return document, definition
