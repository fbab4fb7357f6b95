"""The OpenAPI document: names, addresses and tokens as generators of clients need them, and the rules of requests."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import validate

from baton.api.a2a.access import A2AAccess
from tests.unit.api.served import Served

Json = dict[str, Any]
PERMISSIONS = ("agent:write", "audit:read", "thread:read_all", "user:manage", "procedure:approve", "document:write")
SIGNED = {"/v1/hooks/{hook_id}"}
"""Paths whose requests are signed, and need no token."""
PUBLIC = {
    "/health",
    "/.well-known/agent-card-keys.json",
    "/.well-known/jwks.json",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
}
CARDS = {
    "/.well-known/agent-card.json",
    "/.well-known/agent.json",
    "/a2a",
    "/a2a/{agent_id}",
    "/a2a/{agent_id}/.well-known/agent-card.json",
}


@pytest.fixture(scope="module")
def served() -> Served:
    return Served()


@pytest.fixture(scope="module")
def document(served: Served) -> Json:
    return served.app.openapi()


def operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def test_names_of_schemas_do_not_clash(document: Json) -> None:
    """Generators name classes by titles, and leave out what they cannot name."""
    schemas = document["components"]["schemas"]
    assert [name for name in schemas if name.endswith(("-Input", "-Output")) or "__" in name] == []
    titles = Counter(schema["title"] for schema in schemas.values() if "title" in schema)
    assert [title for title, number in titles.items() if number > 1] == []


def test_the_document_names_an_address(document: Json) -> None:
    assert document["servers"] == [{"url": "/"}]
    access = A2AAccess(public_url="https://api.example.com")
    assert Served(a2a=access).app.openapi()["servers"] == [{"url": "https://api.example.com"}]


def test_each_operation_says_whether_it_needs_a_token(document: Json) -> None:
    security = {(method, path): operation["security"] for method, path, operation in operations(document)}
    assert {path for (_, path), needed in security.items() if needed == []} == PUBLIC | SIGNED
    optional = {(method, path) for (method, path), needed in security.items() if {} in needed}
    assert optional == {("get", path) for path in CARDS}


async def test_only_public_operations_answer_without_a_token(served: Served, document: Json) -> None:
    transport = httpx.ASGITransport(served.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://baton.test") as nobody:
        for path in sorted(PUBLIC | CARDS):
            answer = await nobody.get(path.replace("{agent_id}", "assistant"))
            assert answer.status_code in (200, 404), path
        others = {path for method, path, _ in operations(document) if method == "get"} - PUBLIC - CARDS
        for path in sorted(others):
            answer = await nobody.get(path.replace("{", "").replace("}", ""))
            assert answer.status_code in (401, 404), path


def test_a_repeated_evaluation_has_its_answer(document: Json) -> None:
    answers = document["paths"]["/v1/evaluations"]["post"]["responses"]
    assert answers["200"]["content"] == answers["201"]["content"]


NO_TIMES = ["0.5", "0", "1765432100", "1765432100.5", "2026-03-14", "2026-03-14T10:15", "yesterday", "10:15Z", "", "-1"]


async def test_a_time_in_a_query_is_a_time(served: Served, document: Json) -> None:
    results = [
        (path, parameter["name"])
        for method, path, operation in operations(document)
        for parameter in operation.get("parameters", ())
        if method == "get" and parameter["in"] == "query" and "date-time" in str(parameter["schema"])
    ]
    assert len(results) >= 8
    for path, name in results:
        for value in NO_TIMES:
            answer = await served.get(path.removeprefix("/v1"), *PERMISSIONS, **{name: value})
            assert answer.status_code == 422, (path, name, value, answer.text)
        answer = await served.get(path.removeprefix("/v1"), *PERMISSIONS, **{name: "2026-03-14T10:15:00+01:00"})
        assert answer.status_code == (404 if "{" in path else 200), (path, name, answer.text)


EVALUATION: Json = {
    "name": "5d0ad1c6d1b0",
    "label": "my-shop",
    "model": "m",
    "seconds": 1,
    "metrics": [{"name": "passed", "passes": 1, "runs": 1}],
    "cases": [{"name": "a", "passes": 1, "judged": 1, "runs": 1}],
}
MESSAGE: Json = {"role": "user", "content": "Hello"}


@pytest.mark.parametrize("value", [0, 0.5, 1765432100, True, None, *NO_TIMES])
async def test_a_time_in_a_body_is_a_time(served: Served, value: Any) -> None:
    bodies: list[tuple[str, Json]] = [
        ("/evaluations", EVALUATION | {"beganAt": value}),
        ("/episodes/import", {"sessionId": "s-1", "messages": [MESSAGE | {"timestamp": value}]}),
    ]
    if value is not None:  # which leaves these out
        sent = [MESSAGE | {"timestamp": "2025-06-02T09:30:00Z"}]
        bodies += [
            ("/episodes/import", {"sessionId": "s-1", "messages": sent, "endedAt": value}),
            ("/episodes/search", {"query": "Bern", "from": value}),
            ("/episodes/search", {"query": "Bern", "to": value}),
        ]
    for path, body in bodies:
        answer = await served.post(path, body, *PERMISSIONS)
        assert answer.status_code == 422, (path, body, answer.text)


STEPS: Json = {"name": "Alert", "description": "Posts.", "triggers": ["alert"], "steps": [{"text": "Post."}]}
REFUSED: list[tuple[str, str, Json]] = [
    ("post", "/v1/messages", {"message": ""}),
    ("post", "/v1/messages", {"message": "  "}),
    ("post", "/v1/messages", {"message": [{}]}),
    ("post", "/v1/messages", {"message": [{"type": "hologram"}]}),
    ("post", "/v1/messages", {"message": []}),
    ("post", "/v1/messages", {"message": "Hello", "sessionId": ""}),
    ("post", "/v1/messages", {"message": "Hello", "messageId": "m" * 129}),
    ("post", "/v1/messages", {"message": "Hello", "branch": {}}),
    ("post", "/v1/episodes/search", {"query": " "}),
    ("post", "/v1/episodes/search", {"query": "Bern", "to": ""}),
    ("post", "/v1/episodes/import", {"sessionId": "", "messages": [MESSAGE | {"timestamp": "2025-06-02T09:30:00Z"}]}),
    ("post", "/v1/episodes/import", {"sessionId": "s-1", "messages": []}),
    ("post", "/v1/episodes/import", {"sessionId": "s-1", "messages": [MESSAGE | {"timestamp": ""}]}),
    ("post", "/v1/episodes/import", {"sessionId": "s-1", "messages": [{**MESSAGE, "role": "x", "timestamp": ""}]}),
    ("post", "/v1/agents/assistant/procedures", STEPS | {"allowedTools": [""]}),
    ("post", "/v1/agents/assistant/procedures", STEPS | {"name": ""}),
    ("post", "/v1/agents/assistant/procedures", STEPS | {"description": " "}),
    ("post", "/v1/agents/assistant/procedures", STEPS | {"triggers": [""]}),
    ("post", "/v1/agents/assistant/procedures", STEPS | {"steps": [{"text": ""}]}),
    ("put", "/v1/retention", {}),
]


@pytest.mark.parametrize(("method", "path", "body"), REFUSED)
async def test_the_document_states_the_rules_of_bodies(
    served: Served, document: Json, method: str, path: str, body: Json
) -> None:
    send = served.post if method == "post" else served.put
    answer = await send(path.removeprefix("/v1"), body, *PERMISSIONS, "tenant:manage")
    assert answer.status_code == 422, answer.text
    [operation] = [
        methods[method]
        for template, methods in document["paths"].items()
        if template.replace("{agent_id}", "assistant") == path
    ]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    whole = {"$ref": "#/whole", "whole": schema, "components": document["components"]}
    assert not Draft202012Validator(whole, format_checker=TIMES).is_valid(body)


TIMES = FormatChecker(())


@TIMES.checks("date-time")
def _is_time(value: Any) -> bool:
    return not isinstance(value, str) or "T" in value


HEADERS = [
    ("delete", "/v1/agents/{agent_id}/procedures/{procedure_id}", "If-Match"),
    ("put", "/v1/agents/{agent_id}/procedures/{procedure_id}", "If-Match"),
    ("post", "/v1/agents/{agent_id}/procedures/{procedure_id}/approve", "If-Match"),
    ("put", "/v1/agents/{agent_id}", "If-Match"),
    ("put", "/v1/agents/{agent_id}", "If-None-Match"),
    ("put", "/v1/tenant/limits", "If-Match"),
]


@pytest.mark.parametrize(("method", "path", "header"), HEADERS)
def test_the_document_states_the_form_of_tags(document: Json, method: str, path: str, header: str) -> None:
    parameters = document["paths"][path][method]["parameters"]
    [schema] = [parameter["schema"] for parameter in parameters if parameter["name"].lower() == header.lower()]
    check = Draft202012Validator(schema)
    assert check.is_valid("*")
    for wrong in ("0" * 64, "", "null", '"'):
        assert not check.is_valid(wrong)


def list_described(document: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield the operations but those of A2A's HTTP+JSON binding, whose problems have another form."""
    return (entry for entry in operations(document) if not re.match(r"/a2a/(\{agent_id\}/)?v1/", entry[1]))


def test_the_document_is_valid_openapi(document: Json) -> None:
    assert document["openapi"].startswith("3.1")
    validate(document)


def test_every_route_is_described_with_examples(document: Json) -> None:
    for method, path, operation in list_described(document):
        where = f"{method} {path}"
        assert operation["summary"], where
        assert operation["description"], where
        assert operation["tags"], where
        succeeded = [answer for code, answer in operation["responses"].items() if code.startswith("2")]
        assert succeeded, where
        for answer in succeeded:
            # A 204 has no content.
            for media in answer.get("content", {}).values():
                assert has_example(document, media), where
        if "requestBody" in operation:
            for media in operation["requestBody"]["content"].values():
                assert has_example(document, media), where
        for parameter in operation.get("parameters", []):
            assert parameter.get("description") or parameter["schema"].get("description"), (where, parameter["name"])


def test_every_protected_route_shows_its_problems(document: Json) -> None:
    for method, path, operation in list_described(document):
        if path in PUBLIC | SIGNED:
            continue
        assert "401" in operation["responses"], (method, path)
        for code, answer in operation["responses"].items():
            if code.startswith(("4", "5")):
                media = answer["content"]["application/problem+json"]
                for example in media["examples"].values():
                    assert example["value"]["status"] == int(code)
                assert "application/json" not in answer["content"], (method, path, code)


def has_example(document: Json, media: Json) -> bool:
    """Return whether the body, its schema or each property has an example. A body that is always null needs none."""
    if media.get("example") or media.get("examples") or media.get("schema") == {}:
        return True
    return schema_has_example(document, media["schema"])


def schema_has_example(document: Json, schema: Json) -> bool:
    """Return whether the schema shows the form of a value."""
    if "$ref" in schema:
        return schema_has_example(document, document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]])
    if any(name in schema for name in ("example", "examples", "enum", "const", "default")):
        return True
    if schema.get("type") == "boolean" or schema.get("type") == "null":
        return True
    if "properties" in schema:
        return all(schema_has_example(document, value) for value in schema["properties"].values())
    if "items" in schema:
        return schema_has_example(document, schema["items"])
    if "anyOf" in schema:
        return any(schema_has_example(document, value) for value in schema["anyOf"] if value.get("type") != "null")
    return bool(schema.get("description"))
