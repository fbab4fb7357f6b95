"""A YAML file with the lines of its fields, so that every problem can name its position."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yaml import Node

from baton.domain.yaml_text import InvalidYaml, Place, find_line, read_yaml


class YamlFileError(Exception):
    """The file is not a mapping of fields; the message is ``file:line: what is wrong``."""


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A file that is a mapping of fields."""

    path: Path
    values: dict[Any, Any]
    _root: Node | None

    @classmethod
    def read(cls, path: Path) -> YamlDocument:
        """Read a file. Raises ``YamlFileError``."""
        try:
            text = read_yaml(path.read_text(encoding="utf-8"), is_trusted=True)
        except InvalidYaml as error:
            raise YamlFileError(f"{path}:{error.line}: {error}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise YamlFileError(f"{path}:1: {error}") from None
        values = text.values
        if not isinstance(values, dict):
            raise YamlFileError(f"{path}:1: the file must be a mapping of fields")
        return cls(path, values, text.root)

    def problem(self, path: Place, what: str) -> str:
        """Return ``file:line: field: what`` for the value at ``path``, whose problem is ``what``."""
        return f"{self.where(path)}: {what}"

    def where(self, path: Place) -> str:
        """Return the position of the value at ``path``, as ``file:line: field``."""
        field = ".".join(str(part) for part in path if part != "[key]") or "(file)"
        return f"{self.path}:{self.line(path)}: {field}"

    def line(self, path: Place) -> int:
        """Return the line of the value at ``path``, from 1."""
        return find_line(self._root, path)
