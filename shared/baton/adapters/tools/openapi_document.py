"""Read one callable operation from an OpenAPI document (3.0 and 3.1)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import urljoin

from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from baton.adapters.tools.tool_source import UnusableDocument
from baton.domain.json_values import count_values
from baton.domain.web_url import is_web_url
from baton.domain.yaml_text import MAX_VALUES, InvalidYaml, read_yaml

MAX_NODES = 20_000
"""The maximum number of nodes of an operation's schema after references are replaced."""
MAX_FETCHED_BYTES = 2 * 1024 * 1024
"""The maximum size of a fetched document. Any tenant's agent may name one, and it is read again every ten minutes."""
SHIP_IT = "A part with the operations in use is enough; the operator may also ship the document with the agents' files."
MAX_CHAINED = 20
"""The maximum number of references that lead from one to the next."""
MAX_NAMED = 10
"""The maximum number of operations that an error names."""
METHODS = ("get", "head", "post", "put", "patch", "delete")
_NOT_PARAMETERS = frozenset({"accept", "content-type", "authorization"})
"""Header parameters that clients ignore (OpenAPI 3.1, Parameter Object)."""
_JSON = re.compile(r"application/(json|[\w.+-]+\+json)\s*(;.*)?")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operation."""

    name: str
    location: str
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
    """The URL, with a ``{name}`` for each path parameter."""
    description: str
    parameters: tuple[Parameter, ...]
    body_argument: str | None
    """The argument that is sent as the body; None if the operation has no body."""
    schema: Mapping[str, Any]
    """JSON Schema of all arguments together."""


def parse_document(text: str, *, is_trusted: bool = False) -> Mapping[str, Any]:
    """Parse a document in JSON or YAML.

    ``is_trusted`` says that the operator ships the document. Other documents may have at most ``MAX_VALUES`` values.
    Raises ``UnusableDocument`` for more values, values that JSON lacks, other syntax and other versions of OpenAPI.
    """
    is_json = text.lstrip().startswith("{")
    if is_json and not is_trusted and count_values(text) > MAX_VALUES:
        raise UnusableDocument(f"The document has more than {MAX_VALUES} values. {SHIP_IT}")
    try:
        document = json.loads(text) if is_json else _convert_to_json(read_yaml(text, is_trusted=is_trusted).values)
    except TypeError:
        raise UnusableDocument("The document has a value or a name that JSON does not have.") from None
    except (ValueError, RecursionError):
        raise UnusableDocument("The document is neither JSON nor YAML.") from None
    except InvalidYaml as error:
        raise UnusableDocument(f"The document is neither JSON nor YAML (line {error.line}: {error}).") from None
    if not isinstance(document, dict) or not re.match(r"3\.[01](\.|$)", str(document.get("openapi", ""))):
        raise UnusableDocument("The document is not of OpenAPI 3.0 or 3.1.")
    return document


def _convert_to_json(values: Any) -> Any:
    """Return the values of a YAML document as JSON has them. Dates, which authors seldom quote, become texts.

    Raises ``TypeError`` for other values that JSON does not have.
    """

    def write_date(value: object) -> str:
        if not isinstance(value, date):
            raise TypeError
        return value.isoformat()

    return json.loads(json.dumps(values, default=write_date))


def read_operation(document: Mapping[str, Any], operation_id: str, location: str, base_url: str | None) -> Operation:
    """Return the operation ``operation_id``.

    ``base_url`` replaces the document's servers. Without it a relative server is resolved against ``location``, the
    document's URL, or empty for a shipped file. Raises ``UnusableDocument``.
    """
    try:
        return _read_operation(document, operation_id, location, base_url)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError, RecursionError):
        raise UnusableDocument(f"The document describes {operation_id} in a way that OpenAPI does not allow.") from None


def _read_operation(document: Mapping[str, Any], operation_id: str, location: str, base_url: str | None) -> Operation:
    path, method, item, shared_parameters = _find_operation(document, operation_id)
    references = _References(document)
    arguments = _Arguments(operation_id)
    resolved = [references.resolve(raw) for raw in [*shared_parameters, *item.get("parameters", [])]]
    # A parameter of the operation overrides one of its path.
    for parameter in {(parameter["in"], parameter["name"]): parameter for parameter in resolved}.values():
        arguments.add_parameter(parameter, references)
    if "requestBody" in item:
        arguments.add_body(references.resolve(item["requestBody"]), references)
    return Operation(
        method=method.upper(),
        url=_find_base_url(document, item, location, base_url) + path,
        description="\n\n".join(text for key in ("summary", "description") if (text := item.get(key))) or operation_id,
        parameters=tuple(arguments.parameters),
        body_argument=arguments.body_argument,
        schema=arguments.schema,
    )


class _Arguments:
    """The arguments of a tool, collected from an operation's parameters and body."""

    def __init__(self, operation_id: str) -> None:
        self._operation_id = operation_id
        self._properties: dict[str, Any] = {}
        self._required: list[str] = []
        self.parameters: list[Parameter] = []
        self.body_argument: str | None = None

    @property
    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": self._properties,
            "required": self._required,
            "additionalProperties": False,
        }

    def add_parameter(self, parameter: Mapping[str, Any], references: _References) -> None:
        """Add a Parameter Object. Raises ``UnusableDocument`` for a required cookie."""
        name, location = parameter["name"], parameter["in"]
        if location == "header" and name.lower() in _NOT_PARAMETERS:
            return
        if location == "cookie":
            if parameter.get("required"):
                raise UnusableDocument(f"{self._operation_id} needs the cookie {name}: cookies cannot be sent.")
            return
        argument = name if name not in self._properties else f"{location}_{name}"
        contents: list[dict[str, Any]] = list(parameter.get("content", {}).values())
        schema = parameter.get("schema") or (contents[0].get("schema", {}) if contents else {})
        is_required = bool(parameter.get("required")) or location == "path"
        self._add(argument, references.inline(schema), parameter.get("description"), is_required=is_required)
        explode = bool(parameter.get("explode", location == "query"))
        self.parameters.append(Parameter(name, location, argument, explode))

    def add_body(self, body: Mapping[str, Any], references: _References) -> None:
        """Add a Request Body Object. Raises ``UnusableDocument`` if it is not JSON."""
        schema = _find_json_schema(body, self._operation_id)
        self.body_argument = "body" if "body" not in self._properties else "request_body"
        is_required = bool(body.get("required"))
        self._add(self.body_argument, references.inline(schema), body.get("description"), is_required=is_required)

    def _add(self, argument: str, schema: dict[str, Any], description: Any, *, is_required: bool) -> None:
        if isinstance(description, str) and description and "description" not in schema:
            schema = {**schema, "description": description}
        self._properties[argument] = schema
        if is_required:
            self._required.append(argument)


def _find_operation(document: Mapping[str, Any], operation_id: str) -> tuple[str, str, dict[str, Any], list[Any]]:
    """Return the operation's path, its method, its Operation Object and the parameters of its path."""
    operation_ids = []
    for path, path_item in document.get("paths", {}).items():
        for method in METHODS:
            item = path_item.get(method)
            if not isinstance(item, dict) or "operationId" not in item:
                continue
            if item["operationId"] == operation_id:
                return path, method, item, path_item.get("parameters", [])
            operation_ids.append(str(item["operationId"]))
    names = ", ".join(operation_ids[:MAX_NAMED]) + (", ..." if len(operation_ids) > MAX_NAMED else ".")
    available = f" It has: {names}" if operation_ids else ""
    raise UnusableDocument(f"The document has no operation {operation_id}.{available}")


def _find_json_schema(body: Mapping[str, Any], operation_id: str) -> Any:
    """Return the schema of a body's first JSON content. Raises ``UnusableDocument``."""
    for media_type, content in body["content"].items():
        if _JSON.fullmatch(media_type.strip().lower()):
            return content.get("schema", {})
    raise UnusableDocument(f"{operation_id} takes no JSON.")


def _find_base_url(document: Mapping[str, Any], item: Mapping[str, Any], location: str, base_url: str | None) -> str:
    """Return ``base_url``, or else the first server of the operation or of the document, without a final slash."""
    if base_url is None:
        servers = item.get("servers") or document.get("servers") or [{"url": "/"}]
        variables = servers[0].get("variables", {})
        url = re.sub(r"\{([^{}]+)\}", lambda match: str(variables[match[1]]["default"]), servers[0]["url"])
        base_url = urljoin(location, url)
    if not is_web_url(base_url) or re.match(r"https?://[^/{}]+", base_url) is None:
        raise UnusableDocument("The document does not say where the API is, or holds credentials there: set base_url.")
    return base_url.rstrip("/")


class _References:
    """The references (``$ref``) of a document and their targets."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        # The registry cannot fetch, so references outside the document fail.
        self._resolver = Registry().with_resource("", DRAFT202012.create_resource(document)).resolver()
        self._is_3_0 = str(document["openapi"]).startswith("3.0")
        self._nodes = 0
        """The number of nodes inlined so far."""

    def resolve(self, node: Any) -> dict[str, Any]:
        """Return a copy of ``node``, or of the target of its reference. Raises ``UnusableDocument``."""
        for _ in range(MAX_CHAINED):
            if "$ref" not in node:
                return dict(node)
            node = self._find_target(node["$ref"])
        raise UnusableDocument("The document's references go in circles.")

    def inline(self, schema: Any, open_references: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return ``schema`` with its references replaced by their targets.

        ``open_references`` are the references that enclose ``schema``. A reference to one of them becomes a schema of
        any value. Raises ``UnusableDocument``.
        """
        self._nodes += 1 if isinstance(schema, bool) else 1 + len(schema) // 4  # its keywords are copied
        if self._nodes > MAX_NODES:
            raise UnusableDocument("The operation's schema is too large for a tool.")
        if isinstance(schema, bool):
            return {} if schema else {"not": {}}
        if "$ref" in schema:
            reference = schema["$ref"]
            description = {key: value for key, value in schema.items() if key == "description"}
            if reference in open_references:
                return description
            return {**self.inline(self._find_target(reference), (*open_references, reference)), **description}
        inline_schema = {key: self._inline_keyword(key, value, open_references) for key, value in schema.items()}
        return _to_2020_12(inline_schema) if self._is_3_0 else inline_schema

    def _inline_keyword(self, keyword: str, value: Any, open_references: tuple[str, ...]) -> Any:
        """Return the value of a keyword of a schema with its references replaced by their targets."""
        if keyword in ("properties", "patternProperties", "$defs", "dependentSchemas"):
            return {name: self.inline(schema, open_references) for name, schema in value.items()}
        if keyword in ("allOf", "anyOf", "oneOf", "prefixItems"):
            return [self.inline(schema, open_references) for schema in value]
        if keyword in _SCHEMA_KEYWORDS and isinstance(value, dict):
            return self.inline(value, open_references)
        return value

    def _find_target(self, reference: str) -> Any:
        """Return the node that a reference within the document names. Raises ``UnusableDocument``."""
        self._nodes += reference.count("/")
        if not reference.startswith("#"):
            raise UnusableDocument(
                f"The document refers to another document ({reference[:100]}). Put both into one document."
            )
        try:
            return self._resolver.lookup(reference).contents
        except Unresolvable:
            raise UnusableDocument(f"The document refers to a part that is not in it: {reference[:100]}") from None


_SCHEMA_KEYWORDS = frozenset(
    {"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedProperties"}
)
"""Keywords whose value is one schema."""


def _to_2020_12(schema: dict[str, Any]) -> dict[str, Any]:
    """Change a schema of OpenAPI 3.0 to JSON Schema 2020-12, and return it."""
    if schema.pop("nullable", False) is True:
        if isinstance(schema.get("type"), str):
            schema["type"] = [schema["type"], "null"]
        if "enum" in schema and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and bound in schema:
            schema[exclusive] = schema.pop(bound)
    return schema
