"""Agents from YAML files: read once, checked whole, with errors that name file, line and field."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from baton.domain.agent import AgentDefinition
from baton.domain.tool_call import ASK, TRANSFER, tool_name


class AgentFileError(Exception):
    """The agent files cannot be used; the message lists every problem as ``file:line: field: what is wrong``."""


class AgentFiles:
    """``AgentCatalog`` over a folder of YAML files, one agent a file."""

    def __init__(self, definitions: Sequence[AgentDefinition], default_main: str | None = None) -> None:
        self._by_id = {definition.id: definition for definition in definitions}
        mains = [definition for definition in definitions if definition.main]
        chosen = self._by_id.get(default_main) if default_main else (mains[0] if len(mains) == 1 else None)
        if chosen is None or not chosen.main:
            names = ", ".join(definition.id for definition in mains) or "none"
            raise AgentFileError(
                f"Exactly one agent must be the default main agent; agents with `main: true`: {names}."
            )
        self._default = chosen

    @classmethod
    def load(cls, folder: Path, default_main: str | None = None) -> AgentFiles:
        """Read every ``*.yaml`` in ``folder``. Raises ``AgentFileError`` with all problems of all files at once."""
        paths = sorted(folder.glob("*.yaml"))
        if not paths:
            raise AgentFileError(f"{folder}: no agent files (*.yaml) here.")
        problems: list[str] = []
        definitions: list[AgentDefinition] = []
        for path in paths:
            try:
                definition = load_agent(path)
            except AgentFileError as error:
                problems.append(str(error))
                continue
            if any(definition.id == other.id for other in definitions):
                problems.append(f"{path}:1: id: another file defines the agent {definition.id!r} too")
            definitions.append(definition)
        problems += _references(definitions, paths)
        if problems:
            raise AgentFileError("\n".join(problems))
        return cls(definitions, default_main)

    def get(self, agent_id: str) -> AgentDefinition | None:
        return self._by_id.get(agent_id)

    def all(self) -> list[AgentDefinition]:
        return sorted(self._by_id.values(), key=lambda definition: definition.id)

    def default_main(self) -> AgentDefinition:
        return self._default


def _references(definitions: Sequence[AgentDefinition], paths: Sequence[Path]) -> list[str]:
    """What is wrong with the agents that agents name: unknown ones, themselves, two under one tool's name."""
    known = {definition.id for definition in definitions}
    if len(definitions) < len(paths):
        return []  # a file that cannot be read may be the one that is missed
    problems: list[str] = []
    for definition, path in zip(definitions, paths, strict=True):
        asked, targets = definition.sub_agents, [handoff.agent for handoff in definition.handoffs]
        told = [*_unusable("sub_agents", ASK, asked, known), *_unusable("handoffs", TRANSFER, targets, known)]
        if definition.id in asked:
            told.append(f"sub_agents: {definition.id!r} cannot ask itself")
        problems += [f"{path}:1: {problem}" for problem in told]
    return problems


def _unusable(field: str, prefix: str, named: Sequence[str], known: Collection[str]) -> Iterator[str]:
    """Agents that are named and not there, and those whose tools would share a name."""
    tools: dict[str, str] = {}
    for agent_id in named:
        if agent_id not in known:
            yield f"{field}: there is no agent {agent_id!r}"
        other = tools.setdefault(tool_name(prefix, agent_id), agent_id)
        if other != agent_id:
            yield f"{field}: {other!r} and {agent_id!r} would have the same tool's name"


def load_agent(path: Path) -> AgentDefinition:
    """Read one agent file. Raises ``AgentFileError``."""
    try:
        # One reading for the values and their lines. Not libyaml's, which deep nesting brings down with the process.
        loader = yaml.SafeLoader(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        _refuse_duplicate_keys(path, node)
        values = loader.construct_document(node) if node is not None else None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise AgentFileError(f"{path}:{line}: {error.problem}") from None
    except RecursionError:
        raise AgentFileError(f"{path}:1: the file refers to itself") from None
    except (yaml.YAMLError, ValueError, OSError) as error:  # ValueError: no UTF-8, or a date such as 2026-02-31
        raise AgentFileError(f"{path}:1: {error}") from None
    if not isinstance(values, dict):
        raise AgentFileError(f"{path}:1: an agent file is a mapping of fields")
    try:
        return AgentDefinition.model_validate(values)
    except ValidationError as error:
        raise AgentFileError("\n".join(_problem(path, node, detail) for detail in error.errors())) from None


def _problem(path: Path, root: yaml.Node | None, detail: Any) -> str:
    loc = _without_tags(root, detail["loc"])
    field = ".".join(str(part) for part in loc if part != "[key]") or "(file)"
    return f"{path}:{_line(root, loc)}: {field}: {detail['msg']}"


def _without_tags(root: yaml.Node | None, loc: Sequence[str | int]) -> list[str | int]:
    """``loc`` without the kinds (``mcp``, ``http``) that pydantic puts after the place of something with a ``type``."""
    node, kept = root, list[str | int]()
    for part in loc:
        if isinstance(node, yaml.MappingNode):
            fields = {key.value: value for key, value in node.value}
            if part not in fields and "type" in fields and fields["type"].value == part:
                continue
            node = fields.get(part)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
        else:
            node = None
        kept.append(part)
    return kept


def _line(root: yaml.Node | None, loc: Sequence[str | int]) -> int:
    """The line of the deepest part of ``loc`` that is in the file: a missing field is reported where it should be."""
    node, line = root, (root.start_mark.line + 1 if root is not None else 1)
    for part in loc:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(part):
                    node, line = value, key.start_mark.line + 1
                    break
            else:
                return line
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            return line
    return line


def _refuse_duplicate_keys(path: Path, node: yaml.Node | None) -> None:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise AgentFileError(f"{path}:{key.start_mark.line + 1}: a field's name must be plain text")
            if key.value in seen:
                raise AgentFileError(f"{path}:{key.start_mark.line + 1}: {key.value}: the field is there twice")
            seen.add(key.value)
            _refuse_duplicate_keys(path, value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _refuse_duplicate_keys(path, value)
