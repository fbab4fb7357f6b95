"""Agents in requests and responses: definitions in JSON or YAML, and the shapes of changes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import yaml
from fastapi import Request, Response
from pydantic import Field

from baton.api.http.schemas import ServedAgent, describe
from baton.concurrency.tasks import LARGE, off_loop
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_version import MAX_COMMENT, write_agent_yaml
from baton.domain.desks.desk import DeskDefinition
from baton.domain.errors import FieldProblem, InvalidAgent, InvalidRequest, MalformedJson, MessageTooLarge
from baton.domain.json_values import refuse_constant
from baton.domain.tenants.identity import is_printable
from baton.domain.wire_model import Timestamp, WireModel
from baton.domain.yaml_text import InvalidYaml, YamlText, find_line, read_yaml
from baton.tenants.registry.agent_changes import AgentChange, ExpectedState

MAX_BODY = 256 * 1024
"""Bytes of a request. A definition has at most a quarter of this as JSON, but YAML and indentation may need more."""
YAML = "application/yaml"
AS_YAML: dict[int | str, dict[str, Any]] = {
    200: {"content": {YAML: {"schema": {"type": "string"}, "example": "id: tutor\nname: Tutor\n"}}}
}
YAML_TYPES = frozenset({"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"})
TAG = re.compile(r'(?:W/)?"([1-9][0-9]{0,8})"')
FORMS = "Send one JSON object, encoded as UTF-8; or YAML, with the content type application/yaml."


@dataclass(frozen=True, slots=True)
class SentAgent:
    """A definition in a request."""

    values: Mapping[str, Any]
    as_served: bool
    """True if fields may have the names in the API's responses."""
    version: int | None
    """The version in the body, which the caller has read; None without one."""
    root: yaml.Node | None = None
    """The parsed YAML, for the line numbers of problems; None for JSON."""

    @contextmanager
    def locating(self) -> Iterator[None]:
        """Add the line of each problem to an ``InvalidAgent`` that the block raises."""
        try:
            yield
        except InvalidAgent as error:
            if self.root is None:
                raise
            raise error.at_lines(lambda path: find_line(self.root, path)) from None


async def read_agent(request: Request) -> SentAgent:
    """Return the definition in the body: YAML if the content type says so, otherwise JSON.

    Raises ``MalformedJson``, ``InvalidAgent`` and ``MessageTooLarge``.
    """
    body = await request.body()
    if len(body) > MAX_BODY:
        raise MessageTooLarge(f"The definition of an agent is sent in at most {MAX_BODY // 1024} KB.")
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    is_yaml = kind in YAML_TYPES
    if is_yaml:
        text = await off_loop(LARGE, _read_yaml, body)
        if not isinstance(text.values, dict):
            raise InvalidAgent([FieldProblem("", "The body must be a mapping of fields", line=1)])
        return SentAgent(text.values, as_served=False, version=None, root=text.root)
    values = await off_loop(LARGE, _read_json, body)
    if not isinstance(values, dict):
        raise MalformedJson(FORMS)
    return _remove_served_fields(values)


def wants_yaml(request: Request) -> bool:
    """Return whether the header ``Accept`` names a media type of YAML."""
    accepted = request.headers.get("accept", "").split(",")
    return any(media_type.partition(";")[0].strip().lower() in YAML_TYPES for media_type in accepted)


def read_expected(request: Request, version: int | None) -> ExpectedState:
    """Return the state that the caller expects by ``If-Match``, ``If-None-Match: *`` or the body's ``version``.

    Raises ``InvalidRequest`` for an invalid header.
    """
    match, none_match = request.headers.get("if-match"), request.headers.get("if-none-match")
    if none_match is not None:
        if none_match.strip() != "*" or match is not None:
            raise InvalidRequest("If-None-Match: only * is understood, without If-Match.")
        return ExpectedState(exists=False)
    if match is None:
        return ExpectedState(version=version)
    if match.strip() == "*":
        return ExpectedState(exists=True)
    tag = TAG.fullmatch(match.strip())
    if tag is None:
        raise InvalidRequest('If-Match: send the ETag of the agent, such as "3", or *.')
    return ExpectedState(version=int(tag[1]))


def make_etag(version: int) -> str:
    """Return the ETag of a version."""
    return f'"{version}"'


def _read_json(body: bytes) -> Any:
    try:
        return json.loads(body, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        raise MalformedJson(FORMS) from None


def _read_yaml(body: bytes) -> YamlText:
    try:
        return read_yaml(body.decode(), aliases=False)
    except InvalidYaml as error:
        raise InvalidAgent([FieldProblem("", str(error), line=error.line)]) from None
    except (UnicodeDecodeError, RecursionError):
        raise InvalidAgent("The body must be YAML, encoded as UTF-8.") from None


def _remove_served_fields(values: dict[str, Any]) -> SentAgent:
    """Return the fields without those that are only in responses."""
    fields, version = dict(values), values.get("version")
    if "version" in fields and (version is None or (isinstance(version, int) and not isinstance(version, bool))):
        del fields["version"]
    workflow = fields.get("workflow")
    if isinstance(workflow, dict):
        fields["workflow"] = {name: value for name, value in workflow.items() if name != "version"}
    return SentAgent(fields, as_served=True, version=version if isinstance(version, int) else None)


class OfferedDesk(WireModel):
    """A desk of a main agent at which the user may ask for a person."""

    id: str = Field(examples=["support"])
    name: str = Field(examples=["Support team"])
    description: str = Field(examples=["People who decide about refunds."])
    avatar_url: str | None = Field(examples=[None])
    is_open: bool = describe("Whether its people answer now.", examples=[True])
    opens_at: Timestamp | None = describe(
        "The time at which it opens; null while it is open, and if it stays closed for more than a year.", None
    )

    @classmethod
    def from_agent(cls, agent: AgentDefinition, desk: DeskDefinition, now: datetime) -> OfferedDesk:
        """Return the served form of ``agent``, whose desk is ``desk``, at the time ``now``."""
        is_open = desk.is_open(now)
        return cls.of(agent, is_open=is_open, opens_at=None if is_open else desk.find_next_opening(now))


class ListedAgent(ServedAgent):
    """An agent of the list."""

    is_default: bool = describe("Whether conversations without a named agent begin with it.", examples=[True])
    desks: list[OfferedDesk] = describe(
        "The desks to which it hands conversations over, if the caller may ask for them.", examples=[[]]
    )


class ServedFieldChange(WireModel):
    """One field of an agent that differs."""

    field: str = Field(examples=["systemPrompt"])
    before: Any = describe("The earlier value; null for a new agent, and for an empty field.", "You help.")
    after: Any = Field(examples=["You help with homework."])


class ServedAgentChange(WireModel):
    """A change of an agent that was made, or checked in a dry run."""

    agent: ServedAgent
    version: int = describe("The version with this definition.", 3)
    share: int | None = describe("The percentage of new sessions that use it, if it is a candidate.", None)
    restores: int | None = describe("The older version that it repeats, after a rollback.", None)
    is_new: bool = describe("Whether there was no such agent before.", examples=[False])
    is_stored: bool = describe(
        "Whether a version was made. False for a dry run, and for the definition that the agent already has.",
        examples=[True],
    )
    changes: list[ServedFieldChange]
    warnings: list[str] = describe("Remarks on settings that are allowed but may surprise.", [])


def serve_change(response: Response, change: AgentChange) -> ServedAgentChange:
    """Return the served form of a change, and set the ``ETag`` of the version in force on the response."""
    response.headers["ETag"] = make_etag(change.in_force)
    agent = ServedAgent.model_validate({**change.agent.model_dump(by_alias=True), "version": change.version})
    return ServedAgentChange.of(change, agent=agent)


async def make_yaml_response(
    agent_id: str, values: Mapping[str, Any], version: int | None, *, functions: Sequence[str] = ()
) -> Response:
    """Return a definition as a YAML file.

    A comment names its ``functions`` in Python, because a copy of the definition would not have them.
    """
    text = await off_loop(LARGE, write_agent_yaml, agent_id, values)
    if functions:
        text = f"# In Python: {', '.join(functions)}. A copy of this definition has none of these functions.\n{text}"
    headers = {"ETag": make_etag(version)} if version is not None else {}
    return Response(text, media_type=YAML, headers=headers)


def check_remark(field: str, text: str | None) -> None:
    """Raise ``InvalidRequest``, which names the ``field``, for a text that is not one line."""
    if text is not None and not is_printable(text, MAX_COMMENT):
        raise InvalidRequest(f"{field} must be one line of 1 to {MAX_COMMENT} printable characters.")
