"""Reading one callable operation from an OpenAPI document (3.0 and 3.1)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from baton.adapters.tools.tool_source import UnusableDocument
from baton.domain.json_values import count_values
from baton.domain.web_url import has_credentials
from baton.domain.yaml_text import MAX_VALUES, InvalidYaml, read_yaml

MAX_NODES = 20_000
"""Limit on the nodes of an operation's schema after references are replaced."""
MAX_FETCHED_BYTES = 2 * 1024 * 1024
"""The largest size of a fetched document. A tenant's agent may name it; it is read again every ten minutes."""
SHIP_IT = "A part of it with the operations in use is enough; the operator may also ship it with the agents' files."
MAX_NAMED = 10
"""The largest number of operations that an error names."""
METHODS = ("get", "head", "post", "put", "patch", "delete")
_NOT_PARAMETERS = frozenset({"accept", "content-type", "authorization"})
"""Header parameters that OpenAPI says to ignore."""
_JSON = re.compile(r"application/(json|[\w.+-]+\+json)\s*(;.*)?")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operation."""

    name: str
    place: str
    """``path``, ``query`` or ``header``."""
    argument: str
    """The argument's name in the operation's schema."""
    explode: bool = True
    """Whether a list repeats the name in the query. Otherwise its values are joined by commas."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its request and its arguments."""

    method: str
    url: str
    """The URL, with a ``{placeholder}`` for each path parameter, of the same name."""
    description: str
    parameters: tuple[Parameter, ...]
    body_argument: str | None
    schema: Mapping[str, Any]
    """JSON Schema of all arguments together."""


def parsed(text: str, *, is_trusted: bool = False) -> Mapping[str, Any]:
    """Return the document in ``text``, JSON or YAML. Raises ``UnusableDocument``.

    A text ``is_trusted`` if the operator ships it. Others may have ``MAX_VALUES`` values.
    """
    is_json = text.lstrip().startswith("{")
    if is_json and not is_trusted and count_values(text) > MAX_VALUES:
        raise UnusableDocument(f"The document has more than {MAX_VALUES} values. {SHIP_IT}")
    try:
        document = json.loads(text) if is_json else read_yaml(text, is_trusted=is_trusted).values
    except (ValueError, RecursionError):
        raise UnusableDocument("The document is neither JSON nor YAML.") from None
    except InvalidYaml as error:
        raise UnusableDocument(f"The document is neither JSON nor YAML (line {error.line}: {error}).") from None
    if not isinstance(document, dict) or not re.match(r"3\.[01](\.|$)", str(document.get("openapi", ""))):
        raise UnusableDocument("The document is not of OpenAPI 3.0 or 3.1.")
    return document


def operation(document: Mapping[str, Any], operation_id: str, location: str, base_url: str | None) -> Operation:
    """Return the operation with that id. Relative servers are resolved against ``location``, the document's URL if any.

    Raises ``UnusableDocument``.
    """
    try:
        return _operation(document, operation_id, location, base_url)
    except (AttributeError, KeyError, TypeError, IndexError, RecursionError):
        raise UnusableDocument(f"The document describes {operation_id} in a way that OpenAPI does not allow.") from None


def _operation(document: Mapping[str, Any], operation_id: str, location: str, base_url: str | None) -> Operation:
    path, method, described, shared = _find_operation(document, operation_id)
    read = _References(document)
    described_parameters: dict[tuple[str, str], dict[str, Any]] = {}
    for raw in [*shared, *described.get("parameters", [])]:
        parameter = read.followed(raw)
        described_parameters[parameter["in"], parameter["name"]] = parameter
    properties: dict[str, Any] = {}
    required: list[str] = []
    parameters = []
    for (location_of_parameter, name), parameter in described_parameters.items():
        if location_of_parameter == "header" and name.lower() in _NOT_PARAMETERS:
            continue
        if location_of_parameter == "cookie":
            if parameter.get("required"):
                raise UnusableDocument(f"{operation_id} needs the cookie {name}: cookies cannot be sent.")
            continue
        argument = name if name not in properties else f"{location_of_parameter}_{name}"
        contents: list[dict[str, Any]] = list(parameter.get("content", {}).values())
        schema = parameter.get("schema") or (contents[0].get("schema", {}) if contents else {})
        properties[argument] = _describe(read.inlined(schema), parameter.get("description"))
        if parameter.get("required") or location_of_parameter == "path":
            required.append(argument)
        parameters.append(
            Parameter(
                name, location_of_parameter, argument, bool(parameter.get("explode", location_of_parameter == "query"))
            )
        )
    body_argument = None
    if "requestBody" in described:
        body = read.followed(described["requestBody"])
        schema = _json_schema(body, operation_id)
        body_argument = "body" if "body" not in properties else "request_body"
        properties[body_argument] = _describe(read.inlined(schema), body.get("description"))
        if body.get("required"):
            required.append(body_argument)
    whole = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return Operation(
        method=method.upper(),
        url=_base(document, described, location, base_url) + path,
        description="\n\n".join(text for key in ("summary", "description") if (text := described.get(key)))
        or operation_id,
        parameters=tuple(parameters),
        body_argument=body_argument,
        schema=whole,
    )


def _find_operation(document: Mapping[str, Any], operation_id: str) -> tuple[str, str, dict[str, Any], list[Any]]:
    operation_ids = []
    for path, item in document.get("paths", {}).items():
        for method in METHODS:
            described = item.get(method)
            if not isinstance(described, dict) or "operationId" not in described:
                continue
            if described["operationId"] == operation_id:
                return path, method, described, item.get("parameters", [])
            operation_ids.append(str(described["operationId"]))
    names = ", ".join(operation_ids[:MAX_NAMED]) + (", ..." if len(operation_ids) > MAX_NAMED else ".")
    there_are = f" It has: {names}" if operation_ids else ""
    raise UnusableDocument(f"The document has no operation {operation_id}.{there_are}")


def _json_schema(body: Mapping[str, Any], operation_id: str) -> Any:
    for kind, content in body["content"].items():
        if _JSON.fullmatch(kind.strip().lower()):
            return content.get("schema", {})
    raise UnusableDocument(f"{operation_id} takes no JSON.")


def _base(document: Mapping[str, Any], described: Mapping[str, Any], location: str, base_url: str | None) -> str:
    if base_url is None:
        servers = described.get("servers") or document.get("servers") or [{"url": "/"}]
        variables = servers[0].get("variables", {})
        url = re.sub(r"\{([^{}]+)\}", lambda match: str(variables[match[1]]["default"]), servers[0]["url"])
        base_url = urljoin(location, url)
    if re.match(r"https?://[^/{}]+", base_url) is None or has_credentials(base_url):
        raise UnusableDocument("The document does not say where the API is, or holds credentials there: set base_url.")
    return base_url.rstrip("/")


def _describe(schema: dict[str, Any], description: Any) -> dict[str, Any]:
    if isinstance(description, str) and description and "description" not in schema:
        return {**schema, "description": description}
    return schema


class _References:
    """The references (``$ref``) of a document and their targets."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        # The registry cannot fetch, so references outside the document fail.
        self._resolver = Registry().with_resource("", DRAFT202012.create_resource(document)).resolver()
        self._is_3_0 = str(document["openapi"]).startswith("3.0")
        self._nodes = 0

    def followed(self, node: Any) -> dict[str, Any]:
        """Return ``node``, or the target of its reference. Raises ``UnusableDocument``."""
        for _ in range(20):
            if "$ref" not in node:
                return dict(node)
            node = self._target(node["$ref"])
        raise UnusableDocument("The document's references go in circles.")

    def inlined(self, schema: Any, open_references: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return ``schema`` with its references replaced. A reference to an enclosing schema allows any value.

        Raises ``UnusableDocument``.
        """
        self._nodes += 1 if isinstance(schema, bool) else 1 + len(schema) // 4  # its keywords are copied
        if self._nodes > MAX_NODES:
            raise UnusableDocument("The operation's schema is too large for a tool.")
        if isinstance(schema, bool):
            return {} if schema else {"not": {}}
        if "$ref" in schema:
            reference = schema["$ref"]
            beside = {key: value for key, value in schema.items() if key == "description"}
            if reference in open_references:
                return beside
            return {**self.inlined(self._target(reference), (*open_references, reference)), **beside}
        inlined_schema = {key: self._inline_keyword(key, value, open_references) for key, value in schema.items()}
        return _of_2020(inlined_schema) if self._is_3_0 else inlined_schema

    def _inline_keyword(self, keyword: str, value: Any, opened: tuple[str, ...]) -> Any:
        if keyword in ("properties", "patternProperties", "$defs", "dependentSchemas"):
            return {name: self.inlined(schema, opened) for name, schema in value.items()}
        if keyword in ("allOf", "anyOf", "oneOf", "prefixItems"):
            return [self.inlined(schema, opened) for schema in value]
        if keyword in _WITH_A_SCHEMA and isinstance(value, dict):
            return self.inlined(value, opened)
        return value

    def _target(self, reference: str) -> Any:
        self._nodes += reference.count("/")
        if not reference.startswith("#"):
            raise UnusableDocument(f"The document refers to another one ({reference[:100]}): put them into one.")
        try:
            return self._resolver.lookup(reference).contents
        except Unresolvable:
            raise UnusableDocument(f"The document refers to a part that is not in it: {reference[:100]}") from None


_WITH_A_SCHEMA = frozenset(
    {"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedProperties"}
)


def _of_2020(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of OpenAPI 3.0 as JSON Schema 2020-12."""
    if schema.pop("nullable", False) is True:
        if isinstance(schema.get("type"), str):
            schema["type"] = [schema["type"], "null"]
        if "enum" in schema and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and bound in schema:
            schema[exclusive] = schema.pop(bound)
    return schema
