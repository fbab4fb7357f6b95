"""Procedures in requests, as JSON or as a SKILL.md, and the versions that callers have read."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, TypeVar

from fastapi import Header, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from baton.domain.errors import InvalidRequest, MalformedJson
from baton.domain.memory.procedure import InvalidProcedure, Procedure, ProcedureDraft, ProcedureStatus, parse_draft
from baton.domain.memory.skill_markdown import parse_skill_markdown
from baton.memory.procedures.administration import ReadVersion

MARKDOWN = "text/markdown"
EXAMPLE = (
    "---\nname: Slack Alert\ndescription: Posts an alert.\ntriggers:\n- send slack alert\n---\n\n1. Post the alert.\n"
)
_TAG = re.compile(rf'(?:W/)?"([1-9][0-9]{{0,5}})-({"|".join(ProcedureStatus)})"')

Body = TypeVar("Body", bound=BaseModel)
IfMatch = Annotated[
    str | None,
    Header(
        description='The `ETag` of the version that the caller has read (`"2-pending"`), or `*`.',
        max_length=64,
        examples=[None],
        json_schema_extra={"pattern": rf"^\s*(\*|{_TAG.pattern})\s*$"},
    ),
]


def make_etag(procedure: Procedure) -> str:
    """Return the ETag of a version, which consists of its number and status, because its content never changes."""
    return f'"{procedure.version}-{procedure.status.value}"'


def read_version(if_match: str | None, version: int | None) -> ReadVersion | None:
    """Return the version that the caller has read, by ``If-Match`` or the number in the request; None without both.

    Raises ``InvalidRequest`` if the header is invalid or the two differ.
    """
    if if_match is None or if_match.strip() == "*":
        return ReadVersion(version) if version is not None else None
    tag = _TAG.fullmatch(if_match.strip())
    if tag is None:
        raise InvalidRequest('If-Match: send the ETag of the version that you have read, such as "2-pending", or *.')
    if version not in (None, int(tag[1])):
        raise InvalidRequest(f"version: it is {version}, but If-Match names version {tag[1]}.")
    return ReadVersion(int(tag[1]), ProcedureStatus(tag[2]))


def describe_body(model: type[BaseModel]) -> dict[str, Any]:
    """Return the OpenAPI entry of a body that is JSON or a SKILL.md."""
    schema = model.model_json_schema()
    content = {
        "application/json": {"schema": _inline_definitions(schema, schema.pop("$defs", {}))},
        MARKDOWN: {"schema": {"type": "string"}, "example": EXAMPLE},
    }
    return {"requestBody": {"required": True, "content": content}}


def is_markdown(request: Request) -> bool:
    """Return whether the body is a SKILL.md."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == MARKDOWN


async def read_json(request: Request, model: type[Body]) -> Body:
    """Return the JSON in the body as ``model``. Raises ``MalformedJson`` and ``RequestValidationError``."""
    try:
        value = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise MalformedJson from None
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


async def read_markdown(request: Request) -> ProcedureDraft:
    """Return the SKILL.md in the body. Raises ``InvalidRequest``."""
    try:
        return parse_skill_markdown((await request.body()).decode())
    except UnicodeDecodeError:
        raise InvalidRequest("A SKILL.md is encoded as UTF-8.") from None
    except InvalidProcedure as invalid:
        raise InvalidRequest(f"{invalid}.") from None


def to_draft(fields: dict[str, Any]) -> ProcedureDraft:
    """Return a procedure with these fields. Raises ``InvalidRequest``."""
    try:
        return parse_draft(fields)
    except InvalidProcedure as invalid:
        raise InvalidRequest(f"{invalid}.") from None


def _inline_definitions(schema: Any, definitions: dict[str, Any]) -> Any:
    """Return a JSON schema with references replaced by their definitions."""
    if isinstance(schema, list):
        return [_inline_definitions(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inline_definitions(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {name: _inline_definitions(value, definitions) for name, value in schema.items()}
