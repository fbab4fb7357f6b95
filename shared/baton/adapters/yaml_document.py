"""A YAML file with the lines of its fields, so that every problem can be told where it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Place = Sequence[str | int]
"""Where something is in a document: names of fields and places in lists, from the outside in."""


class YamlFileError(Exception):
    """The file is no mapping of fields; the message is ``file:line: what is wrong``."""


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A file that is a mapping of fields, each of them there once."""

    path: Path
    values: dict[Any, Any]
    _root: yaml.Node | None

    @classmethod
    def read(cls, path: Path) -> YamlDocument:
        """Read a file. Raises ``YamlFileError``."""
        try:
            # One reading for the values and their lines. Not libyaml's, which deep nesting brings down with the
            # process.
            loader = yaml.SafeLoader(path.read_text(encoding="utf-8"))
            node = loader.get_single_node()
            _refuse_duplicate_keys(path, node)
            values = loader.construct_document(node) if node is not None else None
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise YamlFileError(f"{path}:{line}: {error.problem}") from None
        except RecursionError:
            raise YamlFileError(f"{path}:1: the file refers to itself") from None
        except (yaml.YAMLError, ValueError, OSError) as error:  # ValueError: no UTF-8, or a date such as 2026-02-31
            raise YamlFileError(f"{path}:1: {error}") from None
        if not isinstance(values, dict):
            raise YamlFileError(f"{path}:1: the file must be a mapping of fields")
        return cls(path, values, node)

    def problem(self, place: Place, what: str) -> str:
        """``file:line: field: what is wrong``, for whatever is at ``place``, as pydantic or this module names it."""
        return f"{self.where(place)}: {what}"

    def where(self, place: Place) -> str:
        """``file:line: field``."""
        kept = self._without_tags(place)
        field = ".".join(str(part) for part in kept if part != "[key]") or "(file)"
        return f"{self.path}:{self._line(kept)}: {field}"

    def _without_tags(self, place: Place) -> list[str | int]:
        """``place`` without the kinds (``mcp``, ``http``) that pydantic puts behind something with a ``type``."""
        node, kept = self._root, list[str | int]()
        for part in place:
            if isinstance(node, yaml.MappingNode):
                fields = {key.value: value for key, value in node.value}
                if part not in fields and "type" in fields and fields["type"].value == part:
                    continue
                node = fields.get(part)
            elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
                node = node.value[part]
            else:
                node = None
            kept.append(part)
        return kept

    def _line(self, place: Place) -> int:
        """Return the line of the deepest existing part of ``place``, so that a missing field gets its parent's line."""
        node, line = self._root, (self._root.start_mark.line + 1 if self._root is not None else 1)
        for part in place:
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


def _refuse_duplicate_keys(path: Path, node: yaml.Node | None) -> None:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise YamlFileError(f"{path}:{key.start_mark.line + 1}: a field's name must be plain text")
            if key.value in seen:
                raise YamlFileError(f"{path}:{key.start_mark.line + 1}: {key.value}: the field is there twice")
            seen.add(key.value)
            _refuse_duplicate_keys(path, value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _refuse_duplicate_keys(path, value)
