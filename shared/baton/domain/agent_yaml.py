"""An agent's definition as YAML, as its file would have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

WIDTH = 120
_BREAKS = "\x85\u2028\u2029"
"""Ends of lines in YAML, which would be read back as spaces: they are written as escapes."""


def agent_yaml(agent_id: str, values: Mapping[str, Any]) -> str:
    """Return the fields of an agent as YAML, which ``read_yaml`` reads back to the same values; the id comes first.

    Texts of several lines stand as blocks, as a person would write them.
    """
    fields = {"id": agent_id, **{name: value for name, value in values.items() if name != "id"}}
    return yaml.dump(fields, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=WIDTH)


class _Dumper(yaml.SafeDumper):
    """Writes every value out: the texts are read where aliases are refused."""

    def ignore_aliases(self, _: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    if any(character in value for character in _BREAKS):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)
