"""The schema of a call's arguments, as far as people read it: labels, choices and formats of values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from baton.domain.definition import similar_name

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
    """A JSON Schema of arguments, which may come from outside and say anything."""

    root: Part

    def describe(self, part: object, value: Any = None) -> Part:
        """Return the keywords that describe ``value`` by ``part``: of references and of the alternative that fits.

        A keyword beside a reference comes before the one that it refers to.
        """
        keywords: dict[str, Any] = {}
        for _ in range(MAX_STEPS):
            if not isinstance(part, Mapping):
                break
            keywords = {**part, **keywords}
            reference = part.get("$ref")
            alternatives = part.get("anyOf") or part.get("oneOf") or part.get("allOf")
            if isinstance(reference, str):
                part = self._find(reference)
                # The title of what is referred to names a type, and not this value.
                part = {key: it for key, it in part.items() if key != "title"} if isinstance(part, Mapping) else None
            elif isinstance(alternatives, list):
                part = self._choose(alternatives, value)
            else:
                break
        return keywords

    def _find(self, reference: str) -> object:
        part: object = self.root
        if not reference.startswith("#/"):
            return None
        for step in reference[2:].split("/"):
            part = part.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(part, Mapping) else None
        return part

    def _choose(self, alternatives: list[Any], value: Any) -> object:
        """Return the first alternative whose type or ``const`` fits ``value``, otherwise the first that is not null."""
        types = _ANY if value is None else _TYPES.get(type(value), ())
        fallback = None
        for alternative in alternatives:
            described = ArgumentSchema(self.root).describe(alternative) if _refers(alternative) else alternative
            if not isinstance(described, Mapping) or described.get("type") == "null":
                continue
            if "const" in described and described["const"] != value:
                continue
            declared = described.get("type")
            if declared is None or not set(types).isdisjoint([declared] if isinstance(declared, str) else declared):
                return {key: it for key, it in alternative.items() if key != "title"}
            fallback = fallback or alternative
        return fallback

    def choice(self, part: object, value: Any) -> str | None:
        """Return the name of a value that a schema lists; None if it gives none.

        Names are in ``x-labels``, by value, or are the titles of alternatives with ``const``.
        """
        described = self.describe(part, value)
        labels = described.get("x-labels")
        if isinstance(labels, Mapping) and isinstance(label := labels.get(str(value)), str):
            return label
        for keyword in ("oneOf", "anyOf"):
            for alternative in described.get(keyword) or ():
                if isinstance(alternative, Mapping) and "const" in alternative and alternative["const"] == value:
                    title = alternative.get("title")
                    return title if isinstance(title, str) else None
        if isinstance(value, str) and value in (described.get("enum") or ()) and re.fullmatch(r"\w+", value):
            words = value.replace("_", " ")
            return words.capitalize() if value.isupper() and "_" in value else words
        return None

    def label(self, name: str, part: object) -> str:
        """Return the label of a property: its title, otherwise words made of its name."""
        title = part.get("title") if isinstance(part, Mapping) else None
        # Pydantic makes such titles of names.
        if isinstance(title, str) and title.strip() and title != name.replace("_", " ").title():
            return title.strip()
        return humanise(name)

    def find_problem(self, path: str) -> str | None:
        """Return why a path names no value that a sentence can hold; None if it names one."""
        part: object = self.root
        walked: list[str] = []
        for name in path.split("."):
            described = self.describe(part)
            properties = described.get("properties")
            properties = properties if isinstance(properties, Mapping) else {}
            if name not in properties:
                if described.get("additionalProperties") not in (None, False) and properties == {}:
                    return None  # an object of any properties
                similar = similar_name(name, properties)
                missing = f"no field of {'.'.join(walked)}" if walked else "no argument of the tool"
                names = ", ".join([".".join((*walked, property_name)) for property_name in properties][:20]) or "none"
                return f"which is {missing} (" + (f"did you mean {similar}?)" if similar else f"there are: {names})")
            part = properties[name]
            walked.append(name)
        described = self.describe(part)
        if isinstance(inner := described.get("properties"), Mapping) and inner:
            return f"which is an object: name one of its fields, such as {{{path}.{next(iter(inner))}}}"
        return None


def _refers(part: object) -> bool:
    return isinstance(part, Mapping) and "$ref" in part


def humanise(name: str) -> str:
    """Return a name of a program as words: ``from_day`` and ``fromDay`` as ``From day``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    words = re.sub(r"[_\s-]+", " ", spaced).strip()
    return words[:1].upper() + (words[1:].lower() if spaced != name else words[1:]) if words else name
