"""Tools in the form that a model takes: names, schemas and their number."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from baton.adapters.models.profile import ModelProfile
from baton.domain.errors import ModelRefused
from baton.ports.chat_model import ToolSpec

MAX_DEPTH = 12
"""Levels of references that are replaced. A schema that refers to itself is cut there: any value is allowed below."""
MAX_NODES = 20_000
_COMBINED = ("oneOf", "anyOf", "allOf")


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as a request declares it."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON Schema of type object, with ``properties``."""


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """The tools of one request, and their names at the model's endpoint."""

    tools: tuple[OfferedTool, ...] = ()
    _outside: Mapping[str, str] = field(default_factory=dict)
    """The names that had to be changed."""

    def name_outside(self, name: str) -> str:
        """Return the name under which the model knows a tool."""
        return self._outside.get(name, name)

    def name_inside(self, name: str) -> str:
        """Return the tool's own name."""
        return next((own for own, outside in self._outside.items() if outside == name), name)


def offered_tools(tools: Sequence[ToolSpec], profile: ModelProfile, called: Sequence[str] = ()) -> OfferedTools:
    """Return the tools as the model takes them. ``called`` are names in the history, which are changed alike.

    Raises ``ModelRefused`` for more tools than the model takes.
    """
    if len(tools) > profile.max_tools:
        raise ModelRefused(
            f"The agent has {len(tools)} tools, and its model takes at most {profile.max_tools}. Ask the operator to "
            "give the agent fewer of them."
        )
    outside: dict[str, str] = {}
    taken = {tool.name for tool in tools}
    for name in dict.fromkeys([*(tool.name for tool in tools), *called]):
        if not re.fullmatch(profile.tool_names, name):
            outside[name] = _fitting_name(name, profile.tool_names, taken)
            taken.add(outside[name])
    return OfferedTools(
        tuple(
            OfferedTool(outside.get(tool.name, tool.name), tool.description, _schema(tool.parameters, profile))
            for tool in tools
        ),
        outside,
    )


def _fitting_name(name: str, pattern: str, taken: set[str]) -> str:
    cleaned = re.sub(r"[^a-zA-Z0-9_-]+", "_", name) or "tool"
    for candidate in (cleaned, f"t_{cleaned}"):
        short = candidate[:64]
        if re.fullmatch(pattern, short) and short not in taken:
            return short
    number = 2
    while (numbered := f"t_{cleaned}"[:58] + f"_{number}") in taken:
        number += 1
    return numbered


def _schema(parameters: Mapping[str, Any], profile: ModelProfile) -> dict[str, Any]:
    """Return a tool's schema: an object with ``properties``, its keys in order, without what the model refuses."""
    schema = normalised_schema(parameters, profile.dropped_keywords, inlines_refs=profile.inlines_refs)
    for keyword in _COMBINED:
        if keyword in schema:  # not at the top level, for OpenAI and others
            schema = _merged(schema, keyword)
    schema["type"] = "object"
    if not isinstance(schema.get("properties"), dict):
        schema["properties"] = {}
    required = schema.get("required")
    if not isinstance(required, list) or not required:
        schema.pop("required", None)
    return {key: schema[key] for key in sorted(schema)}


def normalised_schema(
    schema: Mapping[str, Any], dropped: frozenset[str], *, inlines_refs: bool = False
) -> dict[str, Any]:
    """Return a JSON Schema with the keys of all its objects in order, without the ``dropped`` keywords.

    The order matters to prompt caches, because some tool servers change it.
    """
    definitions = {**_mapping(schema.get("definitions")), **_mapping(schema.get("$defs"))}
    walk = _Walk(
        dropped | ({"$defs", "definitions"} if inlines_refs else frozenset()), definitions if inlines_refs else None
    )
    found: dict[str, Any] = walk.schema(schema, 0)
    return found


@dataclass(slots=True)
class _Walk:
    dropped: frozenset[str]
    definitions: Mapping[str, Any] | None
    nodes: int = 0

    def schema(self, value: Any, depth: int) -> Any:
        """Return a schema, or a list of them, in normal form."""
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > 64:
            return {}
        if isinstance(value, list | tuple):
            return [self.schema(each, depth + 1) for each in value]
        if not isinstance(value, Mapping):
            return value
        ref = value.get("$ref")
        if self.definitions is not None and isinstance(ref, str):
            name = ref.rpartition("/")[2]
            if depth > MAX_DEPTH or name not in self.definitions:
                return {key: each for key, each in value.items() if key == "description"}
            rest = {key: each for key, each in value.items() if key != "$ref"}
            return self.schema({**_mapping(self.definitions[name]), **rest}, depth + 1)
        return {key: self._member(key, value[key], depth) for key in sorted(value) if key not in self.dropped}

    def _member(self, key: str, value: Any, depth: int) -> Any:
        if key in ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"):
            # The keys are names of the author, which may be those of keywords.
            members = _mapping(value)
            return {name: self.schema(members[name], depth + 1) for name in sorted(members)}
        if key in ("enum", "const", "default", "examples", "required"):
            return list(value) if isinstance(value, tuple) else value
        return self.schema(value, depth + 1)


def _merged(schema: dict[str, Any], keyword: str) -> dict[str, Any]:
    """Return an object schema without a combination at its top: its branches' properties are all allowed."""
    branches = [each for each in schema[keyword] if isinstance(each, dict)] if isinstance(schema[keyword], list) else []
    properties = {name: each for branch in branches for name, each in _mapping(branch.get("properties")).items()}
    merged = {key: value for key, value in schema.items() if key != keyword}
    merged["properties"] = {**properties, **_mapping(schema.get("properties"))}
    if keyword == "allOf":
        needed = [name for branch in branches for name in branch.get("required", ()) if isinstance(name, str)]
        merged["required"] = list(dict.fromkeys([*schema.get("required", ()), *needed]))
    return merged


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
