"""The changes that applying a folder would make. Planning asks the server, and changes nothing."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

from baton_client.addresses import path
from baton_client.agent_folders import OwnedFile
from baton_client.command.connection import Connection, Json
from baton_client.command.exits import CommandError, ExitCode, describe_problem
from baton_client.command.folder import AgentFile, Folder
from baton_client.command.uploads import describe_file
from baton_client.conditions import AgentIdTakenError
from baton_client.errors import APIStatusError, BadRequestError, ConflictError, NotFoundError

Action = Literal["create", "change", "compare", "none"]
"""``compare``: sent by its checksum, so that the server takes it only if the content is new."""

AGENT = "/v1/agents/{agent_id}"
SHIPS = "ships with the deployment, and is not compared: `baton deploy` brings its changes"
SHARE = "share"
YAML = {"Content-Type": "application/yaml"}


@dataclass(frozen=True, slots=True)
class Step:
    """One item of the folder, and the change that applying makes to it."""

    kind: Literal["agent", "document", "procedure"]
    action: Action
    source: AgentFile | OwnedFile
    lines: list[str] = field(default_factory=list)
    """The difference, for people."""
    etag: str | None = None
    """The ETag of the agent's version with which the definition was compared."""
    note: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Parameters of the request that stores an agent."""

    @property
    def name(self) -> str:
        """The item's name among those of its kind."""
        if isinstance(self.source, AgentFile):
            return self.source.agent_id
        return f"{self.source.agent_id}/{self.source.relative}"

    @property
    def label(self) -> str:
        """The item's name among all items."""
        return f"{self.kind} {self.name}"

    def to_json(self) -> Json:
        """Return the step as ``--json`` shows it."""
        return {"kind": self.kind, "name": self.name, "action": self.action, "changes": self.lines, "note": self.note}


async def make_plan(connection: Connection, folder: Folder, parameters: Mapping[str, str]) -> list[Step]:
    """Return the steps, in the order of their execution. Raises ``CommandError``, which names all refused agents.

    Agents are stored with the ``parameters``, but new ones without ``share``.
    """
    steps: list[Step] = []
    refused: list[tuple[AgentFile, BadRequestError]] = []
    for agent in folder.agents:
        try:
            steps.append(await _plan_agent(connection, agent, parameters))
        except BadRequestError as problem:
            refused.append((agent, problem))
    if refused and not any(step.action == "create" for step in steps):
        problems = "; ".join(f"{agent.file}: {describe_problem(problem)}" for agent, problem in refused)
        raise CommandError(f"{problems} Nothing was sent.", ExitCode.USAGE)
    # Refused agents may refer to agents of this folder that the server does not know yet, so they are tried last.
    steps += [
        Step("agent", "change", agent, note=f"checked later: {problem.detail}", parameters=parameters)
        for agent, problem in refused
    ]
    new = {step.name for step in steps if step.action == "create"} | {agent.agent_id for agent, _ in refused}
    by_agent: dict[str, list[OwnedFile]] = {}
    for document in folder.documents:
        by_agent.setdefault(document.agent_id, []).append(document)
    for agent_id, documents in by_agent.items():
        steps += await _plan_documents(connection, agent_id, documents, is_new=agent_id in new)
    for procedure in folder.procedures:
        steps.append(await _plan_procedure(connection, procedure, is_new=procedure.agent_id in new))
    return steps


async def _plan_agent(connection: Connection, agent: AgentFile, parameters: Mapping[str, str]) -> Step:
    address = path(AGENT, agent_id=agent.agent_id)
    if SHARE in parameters and not await _exists(connection, address):
        parameters = {name: value for name, value in parameters.items() if name != SHARE}
    try:
        answer = await connection.send(
            "PUT", address, content=agent.text, headers=YAML, params={"dryRun": "true", **parameters}
        )
    except AgentIdTakenError:
        return Step("agent", "none", agent, note=SHIPS)
    except ConflictError as problem:
        raise CommandError(
            f"{agent.file}: {describe_problem(problem)} Nothing was sent.", ExitCode.CONFLICT
        ) from problem
    warnings = "; ".join(answer.get("warnings") or []) or None
    lines = [line for change in answer["changes"] for line in _format_change(change)]
    if answer["isNew"]:
        return Step("agent", "create", agent, lines, note=warnings, parameters=parameters)
    current = await connection.get(address)
    etag = f'"{current["version"]}"' if current.get("version") is not None else None
    return Step("agent", "change" if lines else "none", agent, lines, etag, warnings, parameters)


async def _exists(connection: Connection, address: str) -> bool:
    try:
        await connection.get(address)
    except NotFoundError:
        return False
    return True


async def _plan_documents(
    connection: Connection, agent_id: str, documents: list[OwnedFile], *, is_new: bool
) -> list[Step]:
    items: list[Json] = []
    if not is_new:
        items = await connection.list_items(path(AGENT + "/documents", agent_id=agent_id))
    by_id = {item["id"]: item for item in items}
    steps = []
    for document in documents:
        announced = describe_file(document.file)
        stored = by_id.get(document.document_id)
        if stored is None:
            steps.append(Step("document", "create", document, [f"+ {announced['size']} bytes"]))
        elif stored["size"] != announced["size"] or stored["status"] == "failed":
            steps.append(
                Step("document", "change", document, [f"- {stored['size']} bytes", f"+ {announced['size']} bytes"])
            )
        else:
            steps.append(Step("document", "compare", document, note="sent only if its content differs"))
    return steps


async def _plan_procedure(connection: Connection, procedure: OwnedFile, *, is_new: bool) -> Step:
    try:
        text = procedure.file.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise CommandError(f"{procedure.file} is not UTF-8: {problem}. Nothing was sent.", ExitCode.USAGE) from problem
    before = "" if is_new else await _read_newest_text(connection, procedure.agent_id, _find_title(text))
    if _normalise(before) == _normalise(text):
        return Step("procedure", "none", procedure)
    diff = list(
        difflib.unified_diff(before.splitlines(), text.splitlines(), "server", str(procedure.file), lineterm="")
    )
    return Step("procedure", "change" if before else "create", procedure, diff, note="waits for approval")


async def _read_newest_text(connection: Connection, agent_id: str, title: str) -> str:
    """Return the newest version of the procedure of that title; empty if there is none."""
    address = path(AGENT + "/procedures", agent_id=agent_id)
    procedures = [item for item in await connection.list_items(address) if item["name"].casefold() == title.casefold()]
    if not procedures:
        return ""
    newest = max(procedures, key=lambda item: int(item["version"]))
    file_address = path("/{procedure_id}/SKILL.md", procedure_id=newest["id"])
    try:
        return await connection.read_text(address + file_address, accept="text/markdown", version=newest["version"])
    except NotFoundError:
        return ""


def _find_title(text: str) -> str:
    for line in text.splitlines():
        if line.startswith("name:"):
            return line.removeprefix("name:").strip().strip("\"'")
    return ""


def _normalise(text: str) -> tuple[Json, list[str]]:
    """Return what two texts of a procedure are compared by: the front matter without empty fields, and the words."""
    parts = re.split(r"^---[ \t]*$", text, maxsplit=2, flags=re.MULTILINE)
    try:
        front = yaml.safe_load(parts[1]) if len(parts) == 3 else {}
    except yaml.YAMLError:
        return {}, text.split()
    if not isinstance(front, dict):
        return {}, text.split()
    return {name: value for name, value in front.items() if value}, parts[-1].split()


def _format_change(change: Json) -> list[str]:
    before, after = _to_text(change.get("before")), _to_text(change.get("after"))
    if "\n" not in before + after:
        pair = [f"- {change['field']}: {before}" if before else "", f"+ {change['field']}: {after}" if after else ""]
        return [line for line in pair if line]
    diff = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    return [f"  {change['field']}:", *(f"    {line}" for line in diff if not line.startswith(("---", "+++", "@@")))]


def _to_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def describe_refusal(step: Step, problem: APIStatusError) -> str:
    """Return the line that says which item the server has refused, and why."""
    return f"{step.label}: {describe_problem(problem)}"
