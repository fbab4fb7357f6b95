"""A YAML file with the lines of its fields, so that every problem can be told where it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yaml import MappingNode, Node, SequenceNode

from baton.domain.yaml_text import InvalidYaml, read_yaml

Place = Sequence[str | int]
"""Where something is in a document: names of fields and places in lists, from the outside in."""


class YamlFileError(Exception):
    """The file is no mapping of fields; the message is ``file:line: what is wrong``."""


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A file that is a mapping of fields, each of them there once."""

    path: Path
    values: dict[Any, Any]
    _root: Node | None

    @classmethod
    def read(cls, path: Path) -> YamlDocument:
        """Read a file. Raises ``YamlFileError``."""
        try:
            text = read_yaml(path.read_text(encoding="utf-8"))
        except InvalidYaml as error:
            raise YamlFileError(f"{path}:{error.line}: {error}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise YamlFileError(f"{path}:1: {error}") from None
        values = text.values
        if not isinstance(values, dict):
            raise YamlFileError(f"{path}:1: the file must be a mapping of fields")
        return cls(path, values, text.root)

    def problem(self, place: Place, what: str) -> str:
        """``file:line: field: what is wrong``, for whatever is at ``place``."""
        return f"{self.where(place)}: {what}"

    def where(self, place: Place) -> str:
        """``file:line: field``."""
        field = ".".join(str(part) for part in place if part != "[key]") or "(file)"
        return f"{self.path}:{self._line(place)}: {field}"

    def _line(self, place: Place) -> int:
        """Return the line of the deepest existing part of ``place``, so that a missing field gets its parent's line."""
        node, line = self._root, (self._root.start_mark.line + 1 if self._root is not None else 1)
        for part in place:
            if isinstance(node, MappingNode):
                for key, value in node.value:
                    if key.value == str(part):
                        node, line = value, key.start_mark.line + 1
                        break
                else:
                    return line
            elif isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
                node = node.value[part]
                line = node.start_mark.line + 1
            else:
                return line
        return line
