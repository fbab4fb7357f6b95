"""Every kind of item says what a restore and an export do with it."""

from __future__ import annotations

import re

import pytest

from baton.adapters.dynamodb.item_kinds import KINDS, Handling, ItemKind, find_kind, find_partition_name, find_tenant
from baton.domain.tenants.identity import Scope
from tests.table_keys import every_key
from tests.unit.docs.pages import ROOT, table

SCOPE, THREAD = Scope("acme", "ada"), "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize(("name", "key"), [pytest.param(*pair, id=pair[0]) for pair in every_key(SCOPE, THREAD)])
def test_every_key_has_a_kind(name: str, key: dict[str, str]) -> None:
    assert find_kind(key) is not None, (
        f"Add the items of `{name}` to KINDS of item_kinds.py: is it copied by a restore?"
    )


def test_every_kind_of_the_data_model_is_there() -> None:
    sorts = {sort for _, sort in KINDS}
    alone = {name for name, sort in KINDS if not sort}
    rows = table(ROOT / "docs/reference/data-model.md", "item")
    partition = ""
    for item, (hash_key, sort_keys, *_) in rows.items():
        partition = partition if hash_key.startswith("same") else hash_key
        heads = [re.match(r"[A-Z0-9]+#?", sort) for sort in re.findall(r"`([^`]+)`", sort_keys)]
        lacking = [head[0] for head in heads if head is not None and head[0] not in sorts]
        assert not lacking or any(name in partition for name in alone), item


@pytest.mark.parametrize(
    ("partition", "sort", "name"),
    [
        ("acme#t1", "MSG#000000000001", "messages"),
        ("acme#~USER#ada", "SCHEDULE#s", "schedules"),
        ("acme#~USER#MSG#1", "ZONE", "time zones"),
        ("~project#~DOCUMENTS#handbook", "DOC#1", "documents"),
        ("~THREAD#t1", "OWNER", "owners of conversations"),
    ],
)
def test_a_kind_is_found_by_partition_and_sort_key(partition: str, sort: str, name: str) -> None:
    kind = find_kind({"PK": partition, "SK": sort})
    assert kind is not None
    assert kind.name == name


def test_an_item_of_another_release_has_no_kind() -> None:
    assert find_kind({"PK": "acme#t1", "SK": "NOVELTY#1"}) is None
    assert find_kind({"PK": "acme#~NOVELTY", "SK": "MSG#1"}) is None


def test_leases_queues_and_connections_are_of_the_moment() -> None:
    moment = {(partition, sort) for (partition, sort), kind in KINDS.items() if kind.handling is Handling.MOMENT}
    assert {("", "LIVE#"), ("", "LOG#"), ("~CONN", ""), ("~PIPELINE", ""), ("ACTIVITY", "")} <= moment


def test_partitions_name_their_tenants() -> None:
    assert (find_tenant("acme#t1"), find_tenant("~CONN#c"), find_tenant("~project#~DOCUMENTS#l")) == (
        "acme",
        None,
        "~project",
    )
    assert (find_partition_name("acme#t1"), find_partition_name("acme#~USER#ada")) == ("", "USER")


def test_no_two_kinds_are_counted_as_one() -> None:
    kinds: list[ItemKind] = list(KINDS.values())
    assert len({kind.name for kind in kinds}) == len({kind.count_name for kind in kinds}) == len(kinds)


def test_the_page_of_exports_lists_every_kind_and_why_some_are_left_out() -> None:
    rows = table(ROOT / "docs/reference/tenant-export.md", "kind")
    assert rows.keys() == {kind.count_name for kind in KINDS.values()}
    for kind in KINDS.values():
        name, is_exported = rows[kind.count_name]
        assert name.startswith(f"{kind.name}, ")
        assert re.fullmatch("yes" if kind.is_exported else "no: .+", is_exported), kind.name
