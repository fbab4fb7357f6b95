"""Rules for the tools and schemas of a Chat Completions request; see ``chat_rules``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.models.standins.chat_rules import Found
from tests.models.standins.question import Json

MAX_TOOLS = 128
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
REFUSED_KEYWORDS = {"$schema", "additionalProperties", "const", "propertyNames"}
"""JSON Schema keywords that Google's API does not know."""


def schemas_of(body: Json) -> Iterator[tuple[str, Any]]:
    """Yield the name and the parameters of each tool."""
    for tool in body.get("tools") or ():
        yield tool["function"]["name"], tool["function"].get("parameters")


def nodes(schema: Any) -> Iterator[Json]:
    """Yield all objects within a JSON value."""
    if isinstance(schema, dict):
        yield schema
    for value in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from nodes(value)


def tool_names(body: Json) -> Found:
    """Names of tools are short and plain, and differ."""
    names = [name for name, _ in schemas_of(body)]
    wrong = [at for at, name in enumerate(names) if not TOOL_NAME.fullmatch(name) or name in names[:at]]
    return {"at": wrong[0], "name": names[wrong[0]]} if wrong else None


def letter_first(body: Json) -> Found:
    """Names of tools begin with a letter or an underscore."""
    wrong = [at for at, (name, _) in enumerate(schemas_of(body)) if not re.match(r"[a-zA-Z_]", name)]
    return {"at": wrong[0]} if wrong else None


def tool_count(body: Json) -> Found:
    """There are tools, and not too many, if the field is sent."""
    count = len(body["tools"]) if "tools" in body else 1
    return None if 0 < count <= MAX_TOOLS else {"count": count}


def properties(body: Json) -> Found:
    """Parameters are an object with properties."""
    for at, (name, schema) in enumerate(schemas_of(body)):
        if schema is not None and (schema.get("type") != "object" or "properties" not in schema):
            return {"at": at, "name": name}
        if schema is not None and {"oneOf", "anyOf", "allOf", "enum", "not"} & set(schema):
            return {"at": at, "name": name}
    return None


def strict_schemas(body: Json) -> Found:
    """A strict schema requires all its properties and allows no others."""
    format_of_answer = (body.get("response_format") or {}).get("json_schema") or {}
    options = [(tool["function"]["name"], tool["function"].get("parameters"), tool["function"].get("strict"))
             for tool in body.get("tools") or ()]  # fmt: skip
    options.append(("response_format", format_of_answer.get("schema"), format_of_answer.get("strict")))
    for name, schema, strict in options:
        for node in nodes(schema) if strict else ():
            if node.get("type") == "object" and (
                node.get("additionalProperties") is not False
                or set(node.get("required", ())) != set(node.get("properties", ()))
            ):
                return {"name": name}
    return None


def schema_keywords(body: Json) -> Found:
    """Parameters use the part of JSON Schema that Google knows."""
    for at, (_, schema) in enumerate(schemas_of(body)):
        for node in nodes(schema):
            # A property may have such a name.
            if result := sorted(key for key in REFUSED_KEYWORDS & set(node) if not isinstance(node[key], dict)):
                return {"at": at, "keyword": result[0]}
    return None


def grammar(body: Json) -> Found:
    """Schemas can become a grammar: whole patterns, and references within the schema."""
    schemas = [schema for _, schema in schemas_of(body)]
    schemas.append(((body.get("response_format") or {}).get("json_schema") or {}).get("schema"))
    for node in nodes(schemas):
        pattern, reference = node.get("pattern"), node.get("$ref")
        if isinstance(pattern, str) and not (pattern.startswith("^") and pattern.endswith("$")):
            return {"reason": "Pattern must start with '^' and end with '$'"}
        if isinstance(reference, str) and not reference.startswith("#/"):
            return {"reason": f"Unsupported ref: {reference}"}
    return None
