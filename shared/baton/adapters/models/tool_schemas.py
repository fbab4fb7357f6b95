"""Tools in the form that a model takes: names, schemas and their number. Schemas of answers have the same form."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from baton.adapters.models.profiles.profile import ModelProfile
from baton.domain.errors import ModelRefused
from baton.domain.text import replace_surrogates
from baton.ports.agents.chat_model import ToolSpec

MAX_DEPTH = 12
"""The maximum depth of references that are replaced. Below it any value is allowed."""
MAX_RECURSION = 2
"""The maximum number of replacements of one definition within each other. Below it any value is allowed."""
MAX_INLINED = 2_000
"""The number of nodes of a schema after which references are left out, because they may grow exponentially."""
MAX_NODES = 20_000
"""The number of nodes of a schema after which any value is allowed."""
MAX_SCHEMA_DEPTH = 64
"""The maximum depth of schemas within schemas. Below it any value is allowed."""
MAX_STEPS = 2 * MAX_SCHEMA_DEPTH
"""The maximum number of steps of a reference, which has two for a property. Longer references are left out."""
MAX_BRANCHES = 50
"""The maximum number of branches and references at the top level that are followed."""
STRICT_NAME = "answer"
"""The name of the agent's answer schema in a request."""
_NO_NUMBER = object()
"""Stand-in for a number that JSON does not have."""
_REFUSED_BY_STRICT_MODES = """
allOf contains dependentRequired dependentSchemas else if not oneOf patternProperties propertyNames then
unevaluatedItems unevaluatedProperties uniqueItems
"""
_NEVER_STRICT = frozenset(_REFUSED_BY_STRICT_MODES.split())
"""Keywords of JSON Schema that strict modes refuse."""
_COMBINED = ("oneOf", "anyOf", "allOf")
NAMED_SCHEMAS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords whose members are schemas under names that the author chose, which may be the names of keywords."""
_AROUND_NAMES = " \t\r\n\"'`<>(){}:"
_RECIPIENT = re.compile(r"\bto=([\w.:/-]+)")
"""The tool's name in the head of a gpt-oss call. Some servers take the whole head for the name."""
_PREFIX = re.compile(r"^(?:functions?|tools?|default_api)[.:/]")
_SUFFIX = re.compile(r"(?::\d+|\.call)$")
"""The number of a call (Kimi), or its method (Llama)."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as a request declares it."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON Schema of type object, with ``properties``."""


@dataclass(frozen=True, slots=True)
class ModelTools:
    """The tools of one request, and their names at the model's endpoint."""

    tools: tuple[OfferedTool, ...] = ()
    _outside: Mapping[str, str] = field(default_factory=dict)
    """The changed names, by the tools' own names."""

    def name_outside(self, name: str) -> str:
        """Return the name under which the model knows a tool."""
        return self._outside.get(name, name)

    def name_inside(self, name: str) -> str:
        """Return the tool's own name for the ``name`` that a model has written; the name itself for no offered tool."""
        offered = self.find_offered_name(name) or name
        return next((own for own, outside in self._outside.items() if outside == offered), offered)

    def find_offered_name(self, name: str) -> str | None:
        """Return the name of the offered tool that a model means by ``name``; None if there is none.

        Marks of chat templates around the name are ignored.
        """
        recipient = _RECIPIENT.search(name)
        bare = (recipient[1] if recipient is not None else name.partition("<|")[0]).strip(_AROUND_NAMES)
        short = _SUFFIX.sub("", _PREFIX.sub("", bare))
        offered = {tool.name for tool in self.tools}
        return next((candidate for candidate in (name, bare, short) if candidate in offered), None)


def make_model_tools(tools: Sequence[ToolSpec], profile: ModelProfile, called: Sequence[str] = ()) -> ModelTools:
    """Return the tools as the model takes them. ``called`` are names of tools in the history, changed by the same rule.

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
            outside[name] = _make_fitting_name(name, profile.tool_names, taken)
            taken.add(outside[name])
    return ModelTools(
        tuple(
            OfferedTool(
                outside.get(tool.name, tool.name),
                replace_surrogates(tool.description),
                _make_schema(tool.parameters, profile),
            )
            for tool in tools
        ),
        outside,
    )


def _make_fitting_name(name: str, pattern: str, taken: set[str]) -> str:
    """Return a name like ``name`` that is not ``taken`` and that ``pattern`` allows, if it allows ``t_name_2``."""
    cleaned = re.sub(r"[^a-zA-Z0-9_-]+", "_", name) or "tool"
    for candidate in (cleaned, f"t_{cleaned}"):
        short = candidate[:64]
        if re.fullmatch(pattern, short) and short not in taken:
            return short
    number = 2
    while (numbered := f"t_{cleaned}"[:58] + f"_{number}") in taken:
        number += 1
    return numbered


def _make_schema(parameters: Mapping[str, Any], profile: ModelProfile) -> dict[str, Any]:
    """Return a tool's schema: an object with ``properties``, its keys in order, without what the model refuses."""
    # OpenAI and others accept neither a reference nor a combination at the top level.
    whole = _Flattening(parameters).flatten(parameters)
    schema = normalise_schema(whole, profile.dropped_keywords, inlines_refs=profile.inlines_refs)
    schema["type"] = "object"
    if not isinstance(schema.get("properties"), dict):
        schema["properties"] = {}
    required = [name for name in _to_list(schema.get("required")) if isinstance(name, str)]
    schema["required"] = list(dict.fromkeys(required))
    if not required:
        del schema["required"]
    return _make_sendable({key: schema[key] for key in sorted(schema)})


@dataclass(slots=True)
class _Flattening:
    """The conversion of a schema with references or combinations at its top level to one object schema."""

    root: Mapping[str, Any]
    branches: int = MAX_BRANCHES
    """The number of branches and references that may still be followed. It ends references that form a circle."""

    def flatten(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return an object schema with the properties of the schema, of its reference and of its branches.

        The properties of all branches are allowed. Properties that a branch of ``allOf`` requires are required.
        """
        target = _find_target(self.root, schema.get("$ref"))
        if target is not None and self._may_follow():
            flattened = self.flatten({**target, **{key: value for key, value in schema.items() if key != "$ref"}})
            return {**{key: schema[key] for key in ("$defs", "definitions") if key in schema}, **flattened}
        flat = {key: value for key, value in schema.items() if key != "$ref" and key not in _COMBINED}
        properties: dict[str, Any] = {}
        required: list[Any] = []
        for keyword in _COMBINED:
            for branch in _to_list(schema.get(keyword)):
                if isinstance(branch, Mapping) and self._may_follow():
                    own = self.flatten(branch)
                    properties |= _to_mapping(own.get("properties"))
                    required += _to_list(own.get("required")) if keyword == "allOf" else []
        if properties:
            flat["properties"] = {**properties, **_to_mapping(schema.get("properties"))}
        if required:
            flat["required"] = [*_to_list(schema.get("required")), *required]
        return flat

    def _may_follow(self) -> bool:
        self.branches -= 1
        return self.branches >= 0


def _make_sendable(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without lone surrogates and without numbers that JSON does not have.

    A number that JSON does not have, such as NaN, is left out with its key. The result allows any object if the schema
    is nested too deeply to be written.
    """
    try:
        try:
            json.dumps(schema, ensure_ascii=False, allow_nan=False).encode()
        except ValueError:
            text = replace_surrogates(json.dumps(schema, ensure_ascii=False))
            mended: dict[str, Any] = json.loads(
                text, parse_constant=lambda _: _NO_NUMBER, object_pairs_hook=_without_no_numbers
            )
            return mended
    except RecursionError:
        return {"properties": {}, "type": "object"}
    return schema


def normalise_schema(
    schema: Mapping[str, Any], dropped: frozenset[str], *, inlines_refs: bool = False
) -> dict[str, Any]:
    """Return a JSON Schema with the keys of all its objects in order, without the ``dropped`` keywords.

    The order matters to prompt caches, because some tool servers change it. With ``inlines_refs``, references within
    the schema are replaced by their targets. Parts beyond the limits of this module allow any value.
    """
    walk = _Walk(
        dropped | ({"$defs", "definitions"} if inlines_refs else frozenset()), schema if inlines_refs else None
    )
    normalised: dict[str, Any] = walk.normalise(schema, 0)
    return normalised


def is_strict(schema: Any) -> bool:
    """Return whether a schema fits strict modes: every object requires all its properties and allows no others.

    A schema with keywords that strict modes refuse does not fit.
    """
    if isinstance(schema, list | tuple):
        return all(map(is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    if not _NEVER_STRICT.isdisjoint(schema):
        return False
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        required = {name for name in _to_list(schema.get("required")) if isinstance(name, str)}
        if schema.get("additionalProperties") is not False or set(properties) != required:
            return False
        return all(map(is_strict, properties.values())) and all(
            is_strict(value) for key, value in schema.items() if key not in ("properties", "enum", "const", "default")
        )
    if schema.get("type") == "object":
        return False
    return all(is_strict(value) for key, value in schema.items() if key not in ("enum", "const", "default"))


@dataclass(slots=True)
class _Walk:
    """A walk through a schema, which returns its parts in normal form."""

    dropped: frozenset[str]
    root: Mapping[str, Any] | None
    """The schema in which references are looked up; None to keep references."""
    nodes: int = 0
    within: list[str] = field(default_factory=list)
    """The references that the current schema replaces, from the outermost on."""

    def normalise(self, value: Any, depth: int) -> Any:
        """Return a schema, or a list of them, in normal form."""
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > MAX_SCHEMA_DEPTH:
            return {}
        if isinstance(value, list | tuple):
            return [self.normalise(member, depth + 1) for member in value]
        if not isinstance(value, Mapping):
            return value
        ref = value.get("$ref")
        if self.root is not None and isinstance(ref, str):
            target = _find_target(self.root, ref)
            is_deep = len(self.within) >= MAX_DEPTH or self.within.count(ref) >= MAX_RECURSION
            if target is None or is_deep or self.nodes > MAX_INLINED:
                return {key: member for key, member in value.items() if key == "description"}
            rest = {key: member for key, member in value.items() if key != "$ref"}
            self.within.append(ref)
            resolved = self.normalise({**target, **rest}, depth + 1)
            self.within.pop()
            return resolved
        return {key: self._normalise_member(key, value[key], depth) for key in sorted(value) if key not in self.dropped}

    def _normalise_member(self, key: str, value: Any, depth: int) -> Any:
        if key in NAMED_SCHEMAS:
            members = _to_mapping(value)
            return {name: self.normalise(members[name], depth + 1) for name in sorted(members)}
        if key in ("enum", "const", "default", "examples", "required"):
            return list(value) if isinstance(value, tuple) else value
        return self.normalise(value, depth + 1)


def _find_target(root: Mapping[str, Any], ref: object) -> Mapping[str, Any] | None:
    """Return the schema to which a reference within ``root`` points (RFC 6901); None for other references."""
    if not isinstance(ref, str) or not ref.startswith("#/") or ref.count("/") > MAX_STEPS:
        return None
    target: Any = root
    for step in ref[2:].split("/"):
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(target, list | tuple):
            target = target[int(key)] if re.fullmatch("[0-9]{1,9}", key) and int(key) < len(target) else None
        else:
            target = _to_mapping(target).get(key)
    return target if isinstance(target, Mapping) else None


def _without_no_numbers(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object without ``_NO_NUMBER``, as ``object_pairs_hook`` of the parser."""
    return {key: _drop_no_numbers(value) for key, value in members if value is not _NO_NUMBER}


def _drop_no_numbers(value: Any) -> Any:
    """Return a value without ``_NO_NUMBER`` at any depth of its lists."""
    return [_drop_no_numbers(item) for item in value if item is not _NO_NUMBER] if isinstance(value, list) else value


def _to_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _to_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
