"""A folder of agents, documents and procedures, as ``baton apply`` reads it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from baton_client.agent_folders import OwnedFile, list_owned_files
from baton_client.command.exits import CommandError, ExitCode


@dataclass(frozen=True, slots=True)
class AgentFile:
    """A file ``agents/NAME.yaml``."""

    file: Path
    agent_id: str
    text: bytes


@dataclass(frozen=True, slots=True)
class Folder:
    """The agents, documents and procedures of a folder."""

    agents: list[AgentFile]
    documents: list[OwnedFile]
    procedures: list[OwnedFile]


def read_folder(root: Path) -> Folder:
    """Return a folder's content. Raises ``CommandError``, which names all files that cannot be used."""
    if not root.is_dir():
        raise CommandError(f"{root} is not a folder.", ExitCode.USAGE)
    problems: list[str] = []
    agents: dict[str, AgentFile] = {}
    for file in sorted([*root.glob("agents/*.yaml"), *root.glob("agents/*.yml")]):
        try:
            agent_file = _read_agent(file)
        except CommandError as problem:
            problems.append(str(problem))
            continue
        if agent_file.agent_id in agents:
            problems.append(f"{file} and {agents[agent_file.agent_id].file} have the same id {agent_file.agent_id!r}")
        agents[agent_file.agent_id] = agent_file
    if problems:
        raise CommandError(f"{'; '.join(problems)}. Nothing was sent.", ExitCode.USAGE)
    procedures = [owned_file for owned_file in list_owned_files(root / "procedures") if owned_file.file.suffix == ".md"]
    folder = Folder(list(agents.values()), list_owned_files(root / "documents"), procedures)
    if not (folder.agents or folder.documents or folder.procedures):
        shipped = " Agents in Python ship with a deployment: `baton deploy`." if any(root.glob("agents/*.py")) else ""
        what = f"{root} has no agents/*.yaml, documents/AGENT/ or procedures/AGENT/.{shipped}"
        raise CommandError(what, ExitCode.USAGE)
    return folder


def _read_agent(file: Path) -> AgentFile:
    text = file.read_bytes()
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        what = getattr(problem, "problem", None) or problem
        raise CommandError(f"{file}{where}: {what}") from problem
    if not isinstance(content, dict) or not isinstance(content.get("id"), str):
        raise CommandError(f"{file}: the field id is missing")
    return AgentFile(file, content["id"], text)
