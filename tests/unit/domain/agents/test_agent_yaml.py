"""Agents' definitions as YAML."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from baton.domain.agents.agent_version import write_agent_yaml
from baton.domain.yaml_text import read_yaml

TEXTS = st.text(st.characters(blacklist_categories=["Cs"])) | st.sampled_from(
    ["yes", "0x1F", "12:30:45", "null", "2026-02-31", "|-", " a\n b \n", "\x85\u2028", "- x\n\ty", "\u202e&a *a", "~"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS.filter(bool), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(TEXTS.filter(lambda name: name not in ("", "id")), VALUES, max_size=5))
def test_what_is_written_as_yaml_is_read_back(values: dict[str, Any]) -> None:
    assert read_yaml(write_agent_yaml("tutor", values), aliases=False).values == {"id": "tutor", **values}


def test_texts_of_several_lines_stand_as_blocks_and_nothing_as_an_alias() -> None:
    shared = ["x"]
    text = write_agent_yaml("tutor", {"system_prompt": "You help.\nAlways.", "tools": [shared, shared]})
    assert text == "id: tutor\nsystem_prompt: |-\n  You help.\n  Always.\ntools:\n- - x\n- - x\n"
