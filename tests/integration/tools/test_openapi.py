"""Operations of OpenAPI documents as tools."""

from __future__ import annotations

import functools
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from baton.adapters.tools.openapi_document import parse_document, read_operation
from baton.adapters.tools.tool_source import UnusableDocument
from baton.ports.agents.tools import ToolFailed
from tests.integration.tools.harness import ADA, Harness, agent_with
from tests.integration.tools.http_server import SPEC
from tests.unit.adapters.egress.serving import reply, serving


def openapi(port: int, operation_id: str = "updatePet", **more: Any) -> dict[str, Any]:
    spec = f"http://127.0.0.1:{port}/openapi.json"
    return {"type": "openapi", "spec": spec, "operation_id": operation_id, **more}


async def test_an_operation_becomes_one_schema_without_references(harness: Harness, service: int) -> None:
    [tool] = (await harness.toolbox.offered(agent_with(openapi(service)), ADA)).tools

    assert (tool.spec.name, tool.spec.description, tool.origin) == ("updatePet", "Change a pet.", "openapi")
    schema = dict(tool.spec.parameters)
    Draft202012Validator.check_schema(schema)
    assert "$ref" not in json.dumps(schema)
    assert set(schema["properties"]) == {"petId", "tags", "fields", "X-Reason", "body"}
    assert schema["required"] == ["petId", "body"]
    pet = schema["properties"]["body"]
    assert pet["properties"]["name"]["type"] == ["string", "null"]
    assert pet["properties"]["age"] == {"type": "number", "exclusiveMinimum": 0}
    assert pet["properties"]["parent"] == {}  # a pet inside a pet may be anything
    assert schema["properties"]["X-Reason"]["description"] == "Why."


WIDE: dict[str, Any] = dict.fromkeys(map(str, range(9_000)), 1)
DEEP: dict[str, Any] = functools.reduce(lambda inner, _: {"not": inner}, range(60), {})


@pytest.mark.parametrize(
    ("part", "reference"),
    [(WIDE, "#/components/schemas/Part"), (DEEP, "#/components/schemas/Part" + "/not" * 60)],
    ids=["keywords that are copied again and again", "long references"],
)
def test_an_operation_is_read_within_bounds(part: dict[str, Any], reference: str) -> None:
    body = {"content": {"application/json": {"schema": {"allOf": [{"$ref": reference}] * 9_000}}}}
    paths = {"/": {"post": {"operationId": "send", "requestBody": body}}}
    document = {"openapi": "3.1.0", "servers": [{"url": "https://a.example"}], "paths": paths}
    with pytest.raises(UnusableDocument, match="too large for a tool"):
        read_operation({**document, "components": {"schemas": {"Part": part}}}, "send", "", None)


@pytest.mark.parametrize(
    ("server", "location", "reference"),
    [
        ("http://[a", "", "#/components"),
        ("http://[a", "https://a.example/openapi.json", "#/components"),
        ("https://a.example", "", "#/servers/first"),
    ],
)
def test_a_document_with_an_unreadable_address_or_reference_is_unusable(
    server: str, location: str, reference: str
) -> None:
    parameter = {"name": "id", "in": "query", "schema": {"$ref": reference}}
    paths = {"/": {"get": {"operationId": "find", "parameters": [parameter]}}}
    document = {"openapi": "3.1.0", "servers": [{"url": server}], "paths": paths, "components": {}}
    with pytest.raises(UnusableDocument):
        read_operation(document, "find", location, None)


async def test_arguments_go_where_the_document_says(harness: Harness, service: int) -> None:
    agent = agent_with(openapi(service, headers={"X-Plain": "1", "x-reason": "ours"}))
    arguments: dict[str, Any] = {
        "petId": "a/b",
        "tags": ["x", "y"],
        "fields": ["p", "q"],
        "X-Reason": "because\r\nX-Evil: 1",
        "body": {"name": "Rex"},
    }

    reported = json.loads((await harness.call(agent, "updatePet", **arguments)).text)

    assert (reported["method"], reported["path"]) == ("PUT", "/api/pets/a%2Fb")
    assert reported["query"] == [["tags", "x"], ["tags", "y"], ["fields", "p,q"]]
    assert json.loads(reported["body"]) == {"name": "Rex"}
    assert (reported["headers"]["x-reason"], reported["headers"]["idempotency-key"]) == ("ours", "key-1")
    assert "x-evil" not in reported["headers"]


def test_dates_of_a_document_in_yaml_are_texts() -> None:
    day = {"name": "day", "in": "query", "schema": {"type": "string", "default": date(2026, 1, 1)}}
    paths = {"/a": {"get": {"operationId": "go", "parameters": [day], "responses": {200: {"description": "Done."}}}}}
    text = yaml.safe_dump({"openapi": "3.1.0", "servers": [{"url": "https://example.com"}], "paths": paths})
    schema = read_operation(parse_document(text), "go", "", None).schema
    assert schema["properties"]["day"]["default"] == "2026-01-01"
    with pytest.raises(UnusableDocument, match="JSON does not have"):
        parse_document("openapi: 3.1.0\nx: !!binary aGk=")


async def test_a_documents_file_below_the_agents_may_be_yaml(harness: Harness, service: int) -> None:
    (harness.folder / "specs").mkdir()
    (harness.folder / "specs" / "pets.yaml").write_text(yaml.safe_dump(SPEC))
    base = f"http://127.0.0.1:{service}/v2/"
    tool = {"type": "openapi", "spec": "specs/pets.yaml", "operation_id": "updatePet", "name": "pet", "base_url": base}

    reported = json.loads((await harness.call(agent_with(tool), "pet", petId="1", body={"name": "x"})).text)

    assert reported["path"] == "/v2/pets/1"


async def test_a_file_outside_the_folder_is_not_read(harness: Harness, tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps(SPEC))
    harness.folder = tmp_path / "agents"
    harness.folder.mkdir()
    (harness.folder / "link.json").symlink_to(outside)
    tool = {"type": "openapi", "spec": "link.json", "operation_id": "updatePet"}

    [missing] = (await harness.toolbox.offered(agent_with(tool), ADA)).missing

    assert "not below the folder" in missing.reason


async def test_a_web_page_instead_of_data_is_a_failure(harness: Harness, service: int) -> None:
    with pytest.raises(ToolFailed, match="web page"):
        await harness.call(agent_with(openapi(service, "getPage")), "getPage")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (reply(b"<html>", "Content-Type: text/html"), "neither JSON nor YAML|not of OpenAPI"),
        (reply(b'{"swagger": "2.0"}'), "not of OpenAPI"),
        (reply(b"a: &a [*a]\nb: *a"), "not of OpenAPI|neither"),
        (reply(b"{" * 100_000), "neither JSON nor YAML"),
        (reply(b"[" * 200_000), "nested more than 100 deep"),
        (reply(b"a: [" + b"1," * 100_000 + b"1]"), "more than 100000 values"),
        (reply(b'{"a": [' + b"1," * 100_000 + b"1]}"), "more than 100000 values"),
        (reply(b'{"a": "' + b"x" * 2**21 + b'"}'), "more than 2097152 bytes"),
        (reply(b"openapi: 3.1.0\nopenapi: 3.1.0"), "line 2: openapi: the field occurs twice"),
        (reply(json.dumps({"openapi": "3.1.0", "paths": {}}).encode()), "no operation updatePet"),
        (reply(b'{"openapi": "3.1.0", "paths": []}'), "does not allow"),
        (reply(b"", status="404 Not Found"), "HTTP 404"),
        (reply(b"", "Location: http://169.254.169.254/x", status="302 Found"), "not a public address"),
        (b"", "cannot be fetched"),
    ],
)
async def test_a_document_that_cannot_be_used_is_missing(harness: Harness, answer: bytes, words: str) -> None:
    async with serving(answer) as port:
        [missing] = (await harness.toolbox.offered(agent_with(openapi(port)), ADA)).missing
    assert missing.origin == "openapi"
    assert any(word in missing.reason for word in words.split("|")), missing.reason


def document(results: dict[str, Any], **components: Any) -> dict[str, Any]:
    paths = {"/x": {"post": {"operationId": "go", **results}}}
    return {"openapi": "3.1.0", "servers": [{"url": "https://a.com"}], "paths": paths, "components": components}


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ({"requestBody": {"content": {"text/plain": {}}}}, "takes no JSON"),
        ({"parameters": [{"name": "s", "in": "cookie", "required": True}]}, "cookie"),
        ({"parameters": [{"$ref": "#/components/parameters/A"}]}, "circles"),
        ({"parameters": [{"name": "s", "in": "query", "schema": {"$ref": "other.json#/x"}}]}, "another document"),
        ({"parameters": [{"name": "s", "in": "query", "schema": {"$ref": "#/components/absent"}}]}, "not in it"),
        ({"parameters": [{"name": "s", "in": "query", "schema": {"$ref": 1}}]}, "does not allow"),
        ({"servers": [{"url": "/relative"}]}, "set base_url"),
        ({"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/L0"}}}}}, "large"),
    ],
)
def test_an_operation_that_cannot_be_a_tool_says_why(results: dict[str, Any], words: str) -> None:
    bombs = {
        f"L{level}": {
            "type": "object",
            "properties": {n: {"$ref": f"#/components/schemas/L{level + 1}"} for n in "abcd"},
        }
        for level in range(12)
    } | {"L12": {"type": "string"}}
    whole = document(results, parameters={"A": {"$ref": "#/components/parameters/A"}}, schemas=bombs)

    with pytest.raises(UnusableDocument, match=words):
        read_operation(whole, "go", "", None)


def test_a_reference_may_be_written_as_in_a_url() -> None:
    results = {"parameters": [{"name": "s", "in": "query", "schema": {"$ref": "#/components/schemas/A%20%7Eof~1B"}}]}
    instance = read_operation(document(results, schemas={"A ~of/B": {"type": "integer"}}), "go", "", None)
    assert instance.schema["properties"] == {"s": {"type": "integer"}}


def test_parameters_that_share_a_name_are_distinguished() -> None:
    results = {
        "parameters": [
            {"name": "id", "in": "query", "schema": {"type": "string"}},
            {"name": "id", "in": "header", "schema": {"type": "string"}},
            {"name": "body", "in": "query", "schema": {"type": "string"}},
        ],
        "requestBody": {"content": {"application/json": {"schema": True}}},
    }
    instance = read_operation(parse_document(json.dumps(document(results))), "go", "", None)

    assert set(instance.schema["properties"]) == {"id", "header_id", "body", "request_body"}
    assert instance.body_argument == "request_body"


async def test_a_question_names_fields_of_the_body_and_one_that_names_others_is_refused(
    harness: Harness, service: int, caplog: pytest.LogCaptureFixture
) -> None:
    request = openapi(service, requires_approval=True, label="Pets", asks="Rename {petId} to {body.name}?")
    [tool] = (await harness.toolbox.offered(agent_with(request), ADA)).tools
    assert (tool.label, tool.asks) == ("Pets", "Rename {petId} to {body.name}?")
    wrong = agent_with(openapi(service, requires_approval=True, asks="Rename to {body.nmae}?"))
    assert (await harness.toolbox.offered(wrong, ADA)).tools == ()
    assert "asks has {body.nmae}, which is no field of body (did you mean name?)" in caplog.text
