"""The addresses that Baton calls and the secrets that it reads for an agent, from all parts of its definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel

from baton.adapters.tools import openapi_document
from baton.adapters.tools.tool_source import UnusableDocument
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_settings import CardSignature, RemoteAgent
from baton.domain.agents.guardrail import Guardrail
from baton.domain.agents.tool import HttpTool, McpServer, OpenApiTool
from baton.domain.tenants.secret import ExchangeTarget, SecretReference
from baton_deployment.contents import Contents

FieldPath = tuple[str | int, ...]

CALLED: Mapping[type[BaseModel], tuple[str, ...]] = {
    HttpTool: ("url",),
    McpServer: ("url",),
    OpenApiTool: ("spec", "base_url"),
    Guardrail: ("url",),
    RemoteAgent: ("card_url",),
    CardSignature: ("jwks_url",),
    ExchangeTarget: ("token_url",),
}
"""The fields of definitions with an address that Baton calls."""
NOT_CALLED: Mapping[type[BaseModel], tuple[str, ...]] = {
    AgentDefinition: ("avatar_url",),  # browsers load it
    ExchangeTarget: ("resource",),  # a name in the request of a token
}
"""Fields with an address that Baton only passes on."""


def find_called_addresses(contents: Contents, agent: AgentDefinition) -> Iterator[tuple[FieldPath, str]]:
    """Yield the addresses with their fields, including the server of an OpenAPI document in the agents' folder."""
    for path, part in _find_parts(agent, ()):
        for field in CALLED.get(type(part), ()):
            address = getattr(part, field)
            if address is not None and (field != "spec" or urlsplit(address).scheme):
                yield (*path, field), address
        if isinstance(part, OpenApiTool) and not part.is_remote and part.base_url is None:
            address = _find_server(contents, part)
            if address is not None:
                yield (*path, "spec"), address


def find_secret_references(agent: AgentDefinition) -> Iterator[tuple[FieldPath, SecretReference]]:
    """Yield the references to secrets and parameters with their fields."""
    for path, part in _find_parts(agent, ()):
        if isinstance(part, SecretReference):
            yield path, part


def _find_parts(value: Any, path: FieldPath) -> Iterator[tuple[FieldPath, BaseModel]]:
    """Yield the pydantic models within ``value``, itself included, with their paths."""
    if isinstance(value, BaseModel):
        yield path, value
        for name in type(value).model_fields:
            yield from _find_parts(getattr(value, name), (*path, name))
    elif isinstance(value, Mapping):
        for name, member in value.items():
            yield from _find_parts(member, (*path, str(name)))
    elif isinstance(value, tuple | list):
        for index, member in enumerate(value):
            yield from _find_parts(member, (*path, index))


def _find_server(contents: Contents, tool: OpenApiTool) -> str | None:
    """Return the URL of a tool's operation; None if the document cannot be read, which the check of tools reports."""
    file = contents.agents_folder / tool.spec
    try:
        document = openapi_document.parse_document(file.read_text(encoding="utf-8"), is_trusted=True)
        return openapi_document.read_operation(document, tool.operation_id, "", None).url
    except (OSError, UnicodeDecodeError, UnusableDocument):
        return None
