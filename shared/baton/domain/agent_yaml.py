"""An agent's definition as YAML, as its file would have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

WIDTH = 120


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
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)
