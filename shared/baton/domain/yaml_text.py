"""YAML from untrusted authors: plain values, each field once, and bounded by the size of the text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

Place = Sequence[str | int]
"""The location of a value in a document: names of fields and indices in lists, from the outside in."""

MAX_DEPTH = 100
"""Levels of mappings and lists within each other."""
MAX_VALUES = 100_000
"""Values of a text, with each alias (``*name``) expanded. Composing that many takes about two seconds."""


class InvalidYaml(Exception):
    """The text is not YAML, or uses YAML that is refused. The message quotes no value, which may be a credential."""

    def __init__(self, problem: str, line: int = 1) -> None:
        super().__init__(problem)
        self.line = line
        """The line of the problem, from 1."""


@dataclass(frozen=True, slots=True)
class YamlText:
    """The values of a text."""

    values: Any
    root: yaml.Node | None
    """The values as nodes, which have their lines; None if the text is empty."""


def read_yaml(text: str, *, aliases: bool = True, is_trusted: bool = False) -> YamlText:
    """Read one document. Raises ``InvalidYaml``, also for aliases (``*name``) if ``aliases`` is false.

    ``is_trusted``: the operator has written the text, so it may have more than ``MAX_VALUES``, unless it has aliases.
    """
    try:
        loader = _Loader(text, math.inf if is_trusted else MAX_VALUES)
        root = loader.get_single_node()
        if loader.uses_aliases and not aliases:
            raise InvalidYaml("aliases (*name) are not allowed")
        if loader.uses_aliases and root is not None:
            _measure(root, {})
        return YamlText(loader.construct_document(root) if root is not None else None, root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "it is no YAML"
        if mark is not None and text[mark.index : mark.index + 1] == "\t":
            problem = "there is a tab; indent with spaces"
        raise InvalidYaml(problem, mark.line + 1 if mark else 1) from None
    except yaml.YAMLError as error:
        raise InvalidYaml(str(error).partition("\n")[0]) from None
    except (ArithmeticError, ValueError, TypeError, LookupError, AttributeError):
        # For example a date such as 2026-02-31, `!!int` of nothing, or a number that is too large.
        raise InvalidYaml("a value is not valid for its type, such as a date that does not exist") from None


def find_line(root: yaml.Node | None, path: Place) -> int:
    """Return the line of the deepest existing part of ``path``, so that a missing field gets its parent's line."""
    node, line = root, (root.start_mark.line + 1 if root is not None else 1)
    for part in path:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(part):
                    node, line = value, key.start_mark.line + 1
                    break
            else:
                return line
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            return line
    return line


class _Loader(Composer, CParser, SafeConstructor, Resolver):
    """A loader that parses in C but composes in Python, because the composer in C crashes on deeply nested lists."""

    def __init__(self, text: str, limit: float) -> None:
        CParser.__init__(self, text)
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)
        self.uses_aliases = False
        self._depth = 0
        self._room = limit

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event: Any = self.peek_event()
        self.uses_aliases = self.uses_aliases or isinstance(event, yaml.AliasEvent)
        if self._depth == MAX_DEPTH:
            raise yaml.MarkedYAMLError(
                problem=f"it is nested more than {MAX_DEPTH} deep", problem_mark=event.start_mark
            )
        self._room -= 1
        if self._room < 0:
            raise yaml.MarkedYAMLError(problem=f"it has more than {MAX_VALUES} values", problem_mark=event.start_mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="a field's name must be plain text", problem_mark=key.start_mark)
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"{key.value}: the field occurs twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return node


def _measure(node: yaml.Node, measured: dict[int, tuple[int, int] | None]) -> tuple[int, int]:
    """Return the number and the levels of the values of ``node``, with its aliases expanded.

    ``measured`` caches the results by the ``id`` of the node. Raises ``InvalidYaml`` beyond ``MAX_VALUES`` and
    ``MAX_DEPTH``, and for a value that contains itself.
    """
    line = node.start_mark.line + 1
    if id(node) in measured:
        result = measured[id(node)]
        if result is None:
            raise InvalidYaml("it refers to itself", line)
        return result
    measured[id(node)] = None
    parts: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        parts = [part for pair in node.value for part in pair]
    elif isinstance(node, yaml.SequenceNode):
        parts = node.value
    results = [_measure(part, measured) for part in parts]
    number = 1 + sum(values for values, _ in results)
    levels = 1 + max((below for _, below in results), default=0)
    if number > MAX_VALUES:
        raise InvalidYaml(f"its aliases (*name) make more than {MAX_VALUES} values", line)
    if levels > MAX_DEPTH:
        raise InvalidYaml(f"its aliases (*name) nest it more than {MAX_DEPTH} deep", line)
    measured[id(node)] = number, levels
    return number, levels
