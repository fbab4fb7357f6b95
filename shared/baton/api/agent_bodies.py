"""Definitions of agents as callers send them: JSON as it is served, or YAML as in an agent's file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request

from baton.catalog.agent_editing import Expected
from baton.domain.errors import InvalidAgent, InvalidRequest, MalformedJson, MessageTooLarge
from baton.domain.yaml_text import InvalidYaml, read_yaml
from baton.off_loop import LARGE, off_loop

MAX_BODY = 256 * 1024
"""Bytes of a request. A definition may be a quarter of it; the rest is room for how it is written."""
YAML_TYPES = frozenset({"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"})
_TAG = re.compile(r'(?:W/)?"([1-9][0-9]{0,8})"')
FORMS = "Send one JSON object, encoded as UTF-8; or YAML, with the content type application/yaml."


@dataclass(frozen=True, slots=True)
class SentAgent:
    """A definition that was sent."""

    values: Mapping[str, Any]
    as_served: bool
    """Whether fields may have the names that the API serves."""
    version: int | None
    """The version that the caller has read, if the body says so."""


async def sent_agent(request: Request) -> SentAgent:
    """Read the body of a request. Raises ``MalformedJson``, ``InvalidAgent`` and ``MessageTooLarge``."""
    body = await request.body()
    if len(body) > MAX_BODY:
        raise MessageTooLarge(f"The definition of an agent is sent in at most {MAX_BODY // 1024} KB.")
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    is_yaml = kind in YAML_TYPES
    values = await off_loop(LARGE, _read_yaml if is_yaml else _read_json, body)
    if not isinstance(values, dict):
        raise InvalidAgent("The body must be a mapping of fields.") if is_yaml else MalformedJson(FORMS)
    if is_yaml:
        return SentAgent(values, as_served=False, version=None)
    return _without_what_is_derived(values)


def expected(request: Request, version: int | None) -> Expected:
    """Return what the caller takes the agent to be: ``If-Match``, ``If-None-Match: *`` or the body's version.

    Raises ``InvalidRequest``.
    """
    match, none_match = request.headers.get("if-match"), request.headers.get("if-none-match")
    if none_match is not None:
        if none_match.strip() != "*" or match is not None:
            raise InvalidRequest("If-None-Match: only * is understood, without If-Match.")
        return Expected(exists=False)
    if match is None:
        return Expected(version=version)
    if match.strip() == "*":
        return Expected(exists=True)
    tag = _TAG.fullmatch(match.strip())
    if tag is None:
        raise InvalidRequest('If-Match: send the ETag of the agent, such as "3", or *.')
    return Expected(version=int(tag[1]))


def etag(version: int) -> str:
    """Return the ETag of a version."""
    return f'"{version}"'


def _read_json(body: bytes) -> Any:
    try:
        return json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise MalformedJson(FORMS) from None


def _read_yaml(body: bytes) -> Any:
    try:
        return read_yaml(body.decode(), aliases=False).values
    except InvalidYaml as error:
        raise InvalidAgent([(f"line {error.line}", str(error))]) from None
    except (UnicodeDecodeError, RecursionError):
        raise InvalidAgent("The body is no YAML in UTF-8.") from None


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _without_what_is_derived(values: dict[str, Any]) -> SentAgent:
    """Return the fields without those that are served only."""
    fields, version = dict(values), values.get("version")
    if "version" in fields and (version is None or (isinstance(version, int) and not isinstance(version, bool))):
        del fields["version"]
    workflow = fields.get("workflow")
    if isinstance(workflow, dict):
        fields["workflow"] = {name: value for name, value in workflow.items() if name != "version"}
    return SentAgent(fields, as_served=True, version=version if isinstance(version, int) else None)
