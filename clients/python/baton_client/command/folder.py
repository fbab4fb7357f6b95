"""A folder of agents, documents and procedures, as ``baton apply`` reads it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import yaml

from baton_client.command.exits import CommandError, ExitCode


@dataclass(frozen=True, slots=True)
class AgentFile:
    """``agents/NAME.yaml``."""

    file: Path
    agent_id: str
    text: bytes


@dataclass(frozen=True, slots=True)
class OwnedFile:
    """``documents/AGENT/...`` or ``procedures/AGENT/...``."""

    file: Path
    agent_id: str
    relative: str
    """The path below the agent's folder."""

    @property
    def document_id(self) -> str:
        """An id that stays the same, so that changed content is a new version of the same document."""
        return f"doc_{hashlib.sha256(f'{self.agent_id}/{self.relative}'.encode()).hexdigest()[:32]}"


@dataclass(frozen=True, slots=True)
class Folder:
    """What is in it."""

    agents: list[AgentFile]
    documents: list[OwnedFile]
    procedures: list[OwnedFile]


def read_folder(root: Path) -> Folder:
    """Return a folder's content. Raises ``CommandError`` that names all files that cannot be used."""
    if not root.is_dir():
        raise CommandError(f"{root} is no folder.", ExitCode.USAGE)
    problems: list[str] = []
    agents: dict[str, AgentFile] = {}
    for file in sorted([*root.glob("agents/*.yaml"), *root.glob("agents/*.yml")]):
        try:
            found = _agent(file)
        except CommandError as problem:
            problems.append(str(problem))
            continue
        if found.agent_id in agents:
            problems.append(f"{file} and {agents[found.agent_id].file} have the same id {found.agent_id!r}")
        agents[found.agent_id] = found
    if problems:
        raise CommandError(f"{'; '.join(problems)}. Nothing was sent.", ExitCode.USAGE)
    folder = Folder(list(agents.values()), _owned(root / "documents"), _owned(root / "procedures", ".md"))
    if not (folder.agents or folder.documents or folder.procedures):
        raise CommandError(f"{root} has no agents/*.yaml, documents/AGENT/ or procedures/AGENT/.", ExitCode.USAGE)
    return folder


def _agent(file: Path) -> AgentFile:
    text = file.read_bytes()
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        what = getattr(problem, "problem", None) or problem
        raise CommandError(f"{file}{where}: {what}") from problem
    if not isinstance(found, dict) or not isinstance(found.get("id"), str):
        raise CommandError(f"{file}: the field id is missing")
    return AgentFile(file, found["id"], text)


def _owned(root: Path, suffix: str | None = None) -> list[OwnedFile]:
    """Return the files below each agent's folder, but for hidden ones and links, which may lead out of it."""
    if not root.is_dir():
        return []
    found = []
    for file in sorted(root.glob("*/**/*")):
        parts = file.relative_to(root).parts
        is_hidden = any(part.startswith(".") for part in parts)
        is_linked = any((root / Path(*parts[:depth])).is_symlink() for depth in range(1, len(parts) + 1))
        if file.is_file() and not is_hidden and not is_linked and suffix in {None, file.suffix}:
            found.append(OwnedFile(file, parts[0], "/".join(parts[1:])))
    return found
