"""The parts of the schema of a call's arguments that people read: labels, choices and formats of values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from baton.domain.definition import suggest_name
from baton.domain.schemas.schema_form import walk_subschemas

MAX_STEPS = 12
"""References and alternatives that are followed from one schema to the one that describes a value."""
_TYPES: Mapping[type, tuple[str, ...]] = {
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number", "integer"),
    str: ("string",),
    list: ("array",),
    dict: ("object",),
    type(None): ("null",),
}
_ANY = ("string", "number", "integer", "boolean", "array", "object")

Part = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ArgumentSchema:
    """A JSON Schema of arguments. It may come from another server and be invalid, so every part is checked."""

    root: Part

    def describe(self, part: object, value: Any = None) -> Part:
        """Return the keywords of ``part``, of the schemas it refers to, and of the alternative that fits ``value``.

        Without a value, it is the first alternative that is not null. A keyword beside a reference overrides that in
        the referenced schema.
        """
        keywords: dict[str, Any] = {}
        for _ in range(MAX_STEPS):
            if not isinstance(part, Mapping):
                break
            keywords = {**part, **keywords}
            reference = part.get("$ref")
            alternatives = part.get("anyOf") or part.get("oneOf") or part.get("allOf")
            if isinstance(reference, str):
                part = _without_title(self._find(reference))
            elif isinstance(alternatives, list):
                part = self._choose(alternatives, value)
            else:
                break
        return keywords

    def find_properties(self, part: object, value: Any = None) -> Mapping[str, Any]:
        """Return the schemas of the properties of ``value`` by name."""
        properties = self.describe(part, value).get("properties")
        return properties if isinstance(properties, Mapping) else {}

    def _find(self, reference: str) -> object:
        part: object = self.root
        if not reference.startswith("#/"):
            return None
        for step in reference[2:].split("/"):
            part = part.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(part, Mapping) else None
        return part

    def _choose(self, alternatives: list[Any], value: Any) -> object:
        """Return the first alternative whose type or ``const`` fits ``value``.

        Otherwise it is the first that is neither null nor a ``const``; None if there is none.
        """
        types = _ANY if value is None else _TYPES.get(type(value), ())
        fallback = None
        for alternative in alternatives:
            described = self._resolve(alternative)
            if not isinstance(alternative, Mapping) or described.get("type") == "null":
                continue
            if "const" in described and described["const"] != value:
                continue
            declared = described.get("type")
            if declared is None or any(kind in types for kind in _as_list(declared)):
                return _without_title(alternative)
            fallback = fallback or alternative
        return fallback

    def _resolve(self, part: object) -> Part:
        """Return the keywords of a schema and its references, without following alternatives, which can be endless."""
        keywords: dict[str, Any] = {}
        for _ in range(MAX_STEPS):
            if not isinstance(part, Mapping):
                break
            keywords = {**part, **keywords}
            part = self._find(part["$ref"]) if isinstance(part.get("$ref"), str) else None
        return keywords

    def find_label_problem(self) -> str | None:
        """Return the problem of the first label that matches no value of its ``enum`` or ``const``; None if all match.

        A label matches a value if it is the value's text in JSON or Python: ``true`` or ``True``.
        """
        for part in walk_subschemas(self.root):
            described = self.describe(part)
            labels, values = described.get("x-labels"), described.get("enum", [described.get("const")])
            if not isinstance(labels, Mapping) or not isinstance(values, list) or values == [None]:
                continue
            names = [_list_value_names(value) for value in values]
            for label in labels:
                if not any(label in value_names for value_names in names):
                    advice = suggest_name(str(label), [value_names[0] for value_names in names])
                    owner = f"the argument {argument}" if (argument := self._find_argument(labels)) else "its schema"
                    return f"x-labels: {label!r} is not a value of {owner} ({advice})"
        return None

    def _find_argument(self, labels: object) -> str | None:
        """Return the name of the argument whose schema has these labels; None if only a referenced schema has them."""
        for name, part in self.find_properties(self.root).items():
            if any(self.describe(inner).get("x-labels") is labels for inner in walk_subschemas(part)):
                return name
        return None

    def find_choice_name(self, part: object, value: Any) -> str | None:
        """Return the name that a schema gives one of its listed values; None if it gives none.

        Names are in ``x-labels``, by value, or are the titles of alternatives with ``const``. A value of an ``enum``
        that is an identifier is its own name, with spaces for underscores.
        """
        described = self.describe(part, value)
        labels = described.get("x-labels")
        if isinstance(labels, Mapping):
            for name in _list_value_names(value):
                if isinstance(label := labels.get(name), str):
                    return label
        for keyword in ("oneOf", "anyOf"):
            for alternative in _as_list(described.get(keyword)):
                if isinstance(alternative, Mapping) and "const" in alternative and alternative["const"] == value:
                    title = alternative.get("title")
                    return title if isinstance(title, str) else None
        if isinstance(value, str) and value in _as_list(described.get("enum")) and re.fullmatch(r"\w+", value):
            words = value.replace("_", " ")
            return words.capitalize() if value.isupper() and "_" in value else words
        return None

    def choose_label(self, name: str, part: object) -> str:
        """Return the label of a property: its title, otherwise words made of its name."""
        title = part.get("title") if isinstance(part, Mapping) else None
        # Pydantic derives such titles from names.
        if isinstance(title, str) and title.strip() and title != name.replace("_", " ").title():
            return title.strip()
        return humanise(name)

    def find_problem(self, path: str) -> str | None:
        """Return why ``path`` names no value that a sentence can contain; None if it names one."""
        part: object = self.root
        walked: list[str] = []
        for name in path.split("."):
            properties = self.find_properties(part)
            if name not in properties:
                if self.describe(part).get("additionalProperties") not in (None, False) and properties == {}:
                    return None  # an object of any properties
                missing = f"no field of {'.'.join(walked)}" if walked else "no argument of the tool"
                return f"which is {missing} ({suggest_name(name, properties)})"
            part = properties[name]
            walked.append(name)
        if self.find_properties(self.describe(part).get("items")):
            return "which is a list of objects, which no sentence can hold"
        if inner := self.find_properties(part):
            return f"which is an object: name one of its fields, such as {{{path}.{next(iter(inner))}}}"
        return None


def _list_value_names(value: Any) -> tuple[str, ...]:
    """Return the keys under which ``x-labels`` may have the label of a value."""
    return (str(value).lower(), str(value)) if isinstance(value, bool) else (str(value),)


def _without_title(part: object) -> object:
    """Return a referenced schema without its title, which names a type and not a value."""
    if not isinstance(part, Mapping):
        return None
    return {keyword: setting for keyword, setting in part.items() if keyword != "title"}


def _as_list(keyword: object) -> list[Any]:
    """Return a keyword's values as a list: a list as it is, a text as its only element, and anything else as empty."""
    if isinstance(keyword, str):
        return [keyword]
    return keyword if isinstance(keyword, list) else []


def humanise(name: str) -> str:
    """Return an identifier as words: ``from_day`` and ``fromDay`` as ``From day``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    words = re.sub(r"[_\s-]+", " ", spaced).strip()
    return words[:1].upper() + (words[1:].lower() if spaced != name else words[1:]) if words else name
