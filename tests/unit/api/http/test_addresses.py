"""No address may hold a user name or password, wherever it is given: every reader of the address would learn them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from a2a.types import Message, Part
from pydantic import TypeAdapter, ValidationError

from baton.adapters.a2a.parts import read_extras
from baton.adapters.tools.openapi_document import read_operation
from baton.adapters.tools.tool_source import UnusableDocument
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_settings import CardSignature, RemoteAgent
from baton.domain.agents.guardrail import Guardrail
from baton.domain.agents.model_providers import Provider
from baton.domain.agents.tool import HttpTool, McpServer, OpenApiTool
from baton.domain.documents.source import SourceRules
from baton.domain.tenants.egress_policy import EgressPolicy
from baton.domain.tenants.identity import OidcIssuer
from baton.domain.tenants.secret import ExchangeTarget
from baton.domain.web_url import is_web_url
from baton.ports.agents.agent_client import AgentFile
from baton.settings.base import Origins, Url
from tests.harness.harness import Harness
from tests.unit.api.a2a_client import A2AServed, blocking, message
from tests.unit.api.served import Served, openapi

Json = dict[str, Any]
GOOD = "https://h.example/@ann/"
"""An address without credentials, in which the sign stands elsewhere."""
BAD = [
    "https://ann:secret@h.example/x",
    "https://ann@h.example/",
    "https://:secret@h.example/",
    "https://ann:@h.example/",
    "https://@h.example/",
    "https://a%40b:c%2Fd@h.example/",
    "https://ann:se@cret@h.example/",
    "HTTPS://ann:secret@h.example:8443/x?y=1#z",
    "https://ann:secret@[2001:db8::1]/",
    "http://ann:secret@127.0.0.1/",
]
WORDS = re.compile(r"url|uri|href|address|spec$|resource", re.IGNORECASE)
"""Names of fields that hold addresses."""

TOOL = {"type": "http", "name": "look", "description": "Looks."}
OPERATION = {"type": "openapi", "operation_id": "look"}
EXCHANGE = {"client_id": "baton", "client_secret": {"secret": "baton/{stage}/tools/x"}, "scope": "read"}
MODELS: dict[str, Any] = {
    "AgentDefinition.avatar_url": lambda url: AgentDefinition.model_validate(
        {"id": "a", "name": "A", "description": "A.", "system_prompt": "Be.", "avatar_url": url}
    ),
    "RemoteAgent.card_url": lambda url: RemoteAgent.model_validate({"card_url": url}),
    "CardSignature.jwks_url": lambda url: CardSignature.model_validate({"jwks_url": url}),
    "Guardrail.url": lambda url: Guardrail.model_validate({"name": "policy", "url": url}),
    "HttpTool.url": lambda url: HttpTool.model_validate(TOOL | {"url": url}),
    "McpServer.url": lambda url: McpServer.model_validate({"type": "mcp", "name": "wiki", "url": url}),
    "OpenApiTool.spec": lambda url: OpenApiTool.model_validate(OPERATION | {"spec": url}),
    "OpenApiTool.base_url": lambda url: OpenApiTool.model_validate(OPERATION | {"spec": "x.yaml", "base_url": url}),
    "ExchangeTarget.token_url": lambda url: ExchangeTarget.model_validate(EXCHANGE | {"token_url": url}),
    "ExchangeTarget.resource": lambda url: ExchangeTarget.model_validate(
        EXCHANGE | {"token_url": "https://h.example/", "resource": url}
    ),
}
SETTINGS: dict[str, Any] = {
    "an address of the deployment": lambda url: TypeAdapter(Url).validate_python(url),
    "an issuer": lambda url: OidcIssuer.model_validate({"issuer": url, "audience": "baton"}),
    "keys of an issuer": lambda url: OidcIssuer.model_validate(
        {"issuer": "https://h.example", "audience": "baton", "jwksUrl": url}
    ),
}
STRICTER: dict[str, Any] = {
    # These take no sign @ anywhere.
    "an origin": lambda url: TypeAdapter(Origins).validate_python(url),
    "a provider of models": lambda url: Provider.model_validate({"baseUrl": url}),
}


def fields_with_addresses() -> Iterator[str]:
    """Yield the fields of an agent's definition that hold addresses, with their models."""
    schema = AgentDefinition.model_json_schema(by_alias=False)
    models = {"AgentDefinition": schema, **schema["$defs"]}
    for model, result in models.items():
        for name in result.get("properties", {}):
            if WORDS.search(name):
                yield f"{model}.{name}"


def test_every_address_in_a_definition_is_checked_here() -> None:
    assert set(fields_with_addresses()) == set(MODELS)


@pytest.mark.parametrize("field", [*MODELS, *SETTINGS])
def test_definitions_and_settings_refuse_them(field: str) -> None:
    make = {**MODELS, **SETTINGS}[field]
    make(GOOD)
    for url in BAD:
        with pytest.raises(ValidationError):
            make(url)


@pytest.mark.parametrize("field", STRICTER)
def test_what_takes_no_such_sign_refuses_them(field: str) -> None:
    STRICTER[field]("https://h.example")
    for url in BAD:
        with pytest.raises(ValidationError):
            STRICTER[field](url)


DOCUMENT = {"name": "a.txt", "contentType": "text/plain", "size": 3}
REQUESTS: dict[str, Any] = {
    "POST /v1/agents/{agent_id}/documents url": lambda url: DOCUMENT | {"url": url},
    "POST /v1/agents/{agent_id}/sources url": lambda url: {"kind": "sitemap", "url": url},
    "POST /v1/agents/{agent_id}/sources urls": lambda url: {"kind": "urls", "urls": ["https://h.example/", url]},
}


def requests_with_addresses(document: Json) -> Iterator[str]:
    """Yield the operations and fields of requests that hold addresses."""

    def within(schema: Json, seen: tuple[str, ...] = ()) -> Iterator[str]:
        name = schema.get("$ref", "").rpartition("/")[2]
        if name:
            if name not in seen:
                yield from within(document["components"]["schemas"][name], (*seen, name))
            return
        for item in [*schema.get("anyOf", []), *schema.get("oneOf", []), schema.get("items", {})]:
            if item:
                yield from within(item, seen)
        for field, item in schema.get("properties", {}).items():
            if WORDS.search(field):
                yield field
            yield from within(item, seen)

    for path, operations in document["paths"].items():
        for method, described in operations.items():
            for content in described.get("requestBody", {}).get("content", {}).values():
                for field in within(content.get("schema", {})):
                    yield f"{method.upper()} {path} {field}"


def test_every_address_in_a_request_is_checked_here() -> None:
    assert set(requests_with_addresses(openapi())) == set(REQUESTS)


@pytest.mark.parametrize("request_and_field", REQUESTS)
async def test_requests_with_them_are_refused(request_and_field: str) -> None:
    served = Served(Harness(source_rules=SourceRules(EgressPolicy.of(["*"], allow_local=True))))
    method, path, _ = request_and_field.split(" ")
    assert method == "POST"
    path = path.removeprefix("/v1").replace("{agent_id}", "assistant")
    assert (await served.post(path, REQUESTS[request_and_field](GOOD), "document:write")).status_code == 201
    for url in BAD:
        refused = await served.post(path, REQUESTS[request_and_field](url), "document:write")
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request"), url
        assert "secret" not in refused.text


@pytest.mark.parametrize("url", BAD)
async def test_messages_refer_to_no_such_address(url: str) -> None:
    served = Served()
    parts = [{"type": "image", "source": {"type": "url", "value": url}}]
    for path, body in {
        "/messages": {"message": parts},
        "/runs": {
            "threadId": served.harness.thread_id,
            "runId": "r-1",
            "messages": [{"id": "m-1", "role": "user", "content": parts}],
            "tools": [],
            "context": [],
            "state": {},
            "forwardedProps": {},
        },
    }.items():
        assert (await served.post(path, body)).status_code == 422
    a2a = A2AServed()
    file = {"kind": "file", "file": {"mimeType": "image/png", "uri": url}}
    assert "error" in await a2a.call("message/send", blocking(message() | {"parts": [file]}))


@pytest.mark.parametrize("url", BAD)
async def test_nobody_is_notified_at_such_an_address(url: str) -> None:
    served = A2AServed()
    configuration = {"pushNotificationConfig": {"url": url}}
    answer = await served.call("message/send", blocking(message(), **configuration))
    assert answer["error"]["code"] == -32602


@pytest.mark.parametrize("url", BAD)
def test_what_others_answer_with_them_is_dropped(url: str) -> None:
    [(_, linked)] = read_extras(Message(parts=[Part(url=GOOD, filename="a.pdf")]))
    [(_, unlinked)] = read_extras(Message(parts=[Part(url=url, filename="a.pdf")]))
    assert isinstance(linked, AgentFile)
    assert isinstance(unlinked, AgentFile)
    assert (linked.attachment.url, unlinked.attachment.url) == (GOOD, None)
    assert is_web_url(GOOD)
    assert not is_web_url(url)
    document = {"servers": [{"url": url}], "paths": {"/x": {"get": {"operationId": "look", "responses": {}}}}}
    with pytest.raises(UnusableDocument):
        read_operation(document, "look", "", None)
