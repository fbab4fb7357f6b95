"""The runbook has a section for every alarm of the template, and for no other."""

from __future__ import annotations

import re

import pytest

from tests.infrastructure.alarms import alarms_of, anchor_of, condition_of
from tests.infrastructure.stack import ROOT, Stack, read_template

RUNBOOK = ROOT / "docs" / "how-to" / "runbook.md"
ALARMS = alarms_of(Stack(read_template()))


def sections() -> dict[str, str]:
    """Anchor -> text of each section of the third level."""
    parts = re.split(r"^### (.+)$", RUNBOOK.read_text(), flags=re.MULTILINE)[1:]
    texts = (re.split(r"^## ", text, flags=re.MULTILINE)[0] for text in parts[1::2])
    return {title.lower().replace(" ", "-"): text for title, text in zip(parts[::2], texts, strict=True)}


def test_the_table_lists_every_alarm_as_the_template_has_it() -> None:
    listed = [line for line in RUNBOOK.read_text().splitlines() if line.startswith("| [`")]
    assert listed == [f"| [`{name}`](#{anchor_of(alarm)}) | {condition_of(alarm)} |" for name, alarm in ALARMS.items()]


@pytest.mark.parametrize("name", ALARMS)
def test_the_section_of_an_alarm_says_where_to_look_and_what_to_do(name: str) -> None:
    anchor = anchor_of(ALARMS[name])
    section = sections()[anchor]
    assert anchor == name.lower() or f"`{name}`" in section
    assert "**Look**" in section
    assert "**Do**" in section


def test_no_section_is_about_an_alarm_that_does_not_exist() -> None:
    assert set(sections()) == {anchor_of(alarm) for alarm in ALARMS.values()}
    named = set(re.findall(r"`(\w+Alarm)`", RUNBOOK.read_text()))
    assert named <= set(ALARMS)
