"""The previous release reads what this one stores and sends, or the page on upgrades says what it does not read."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from baton_local.root import ROOT
from tests.upgrade.breaks import find_breaks
from tests.upgrade.schemas import describe
from tests.upgrade.trees import RECORDS, PreviousRelease

TEXT = {"type": "string"}
REMEDY = (
    "The previous release cannot read this. Write it so that it can, or have a release read it before another one "
    "writes it. If neither is possible, add the line to tests/upgrade/records/breaks.toml, with the heading of a "
    "section of docs/how-to/upgrade.md that says what to do before the upgrade and before going back."
)


def write(**fields: Any) -> dict[str, dict[str, Any]]:
    """Return the schema of an item with these fields, all of which are required."""
    return {"Item": {"type": "object", "properties": fields, "required": sorted(fields)}}


@pytest.mark.parametrize(
    ("newer", "breaks"),
    [
        (write(a={"enum": ["x"]}, b=TEXT), []),
        (write(a={"enum": ["x"]}, b=TEXT, c=TEXT), []),
        (write(a={"enum": ["x", "y"]}, b=TEXT), ["Item.a: the value 'y' is new"]),
        (write(a={"enum": ["x"]}), ["Item.b: it may be left out"]),
        (write(a={"enum": ["x"]}, b={"type": "integer"}), ["Item.b: type was string and is integer"]),
        (write(a={"enum": ["x"]}, b={"anyOf": [TEXT, {"type": "null"}]}), ["Item.b: it has other kinds of values"]),
        ({}, ["Item: it is no longer written"]),
    ],
)
def test_values_that_an_older_reader_refuses_are_found(newer: dict[str, Any], breaks: list[str]) -> None:
    result = find_breaks(write(a={"enum": ["x"]}, b=TEXT), newer)
    assert [line for line in result if line in breaks or not breaks] == breaks


NUMBER = {"type": "integer", "minimum": 1, "maximum": 9}
KIND = {"type": "string", "const": "x"}


@pytest.mark.parametrize(
    ("older", "newer", "line"),
    [
        (NUMBER, NUMBER | {"minimum": 2, "maximum": 8}, None),
        (NUMBER, NUMBER | {"minimum": 0}, "minimum was 1 and is 0"),
        (NUMBER, {"type": "integer", "minimum": 1}, "maximum was 9 and is None"),
        (TEXT | {"maxLength": 5}, TEXT | {"maxLength": 6}, "maxLength was 5 and is 6"),
        (KIND, {"type": "string", "enum": ["x", "y"]}, "the value 'y' is new"),
        (KIND, TEXT, "it may have any value"),
        ({"type": "integer"}, KIND, "the value 'x' is new"),
        ({"type": "array", "items": TEXT}, {"type": "array"}, "it may have any items"),
        (TEXT | {"maxLength": 1}, {"type": "string", "enum": ["x", "xx"]}, "the value 'xx' is new"),
        ({"type": "string", "enum": ["x", "y"]}, KIND, None),
    ],
)
def test_looser_bounds_and_more_values_are_breaks(older: Any, newer: Any, line: str | None) -> None:
    assert find_breaks(write(a=older), write(a=newer)) == ([f"Item.a: {line}"] if line else [])


def test_a_new_kind_of_record_is_a_break_and_a_new_kind_of_item_is_none() -> None:
    record: dict[str, Any] = {"QueuedNovelty": {"type": "object"}, "body of NOVELTY": {"type": "object"}}
    assert find_breaks({}, record) == ["QueuedNovelty: it is new"]


def test_a_new_field_is_a_break_for_a_reader_that_forbids_it() -> None:
    older = {"Item": {"type": "object", "properties": {}, "additionalProperties": False}}
    assert find_breaks(older, write(a=TEXT)) == ["Item.a: it is new"]


def test_the_previous_release_reads_all_that_this_one_writes_but_what_the_page_on_upgrades_names() -> None:
    older = json.loads(PreviousRelease.read().schemas.read_text())
    noted = tomllib.loads((RECORDS / "breaks.toml").read_text())
    assert set(find_breaks(older, describe())) == set(noted), REMEDY


def test_each_break_has_a_note_for_who_upgrades() -> None:
    headings = {
        line.lstrip("# ") for line in (ROOT / "docs/how-to/upgrade.md").read_text().splitlines() if line.startswith("#")
    }
    assert set(tomllib.loads((RECORDS / "breaks.toml").read_text()).values()) <= headings
