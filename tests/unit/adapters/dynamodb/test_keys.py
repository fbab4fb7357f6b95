"""Keys: every tenant, thread and user has separate partitions."""

from __future__ import annotations

import inspect
import random
from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from baton.adapters.dynamodb import agent_keys, key_forms, keys
from baton.domain.tenants.identity import Scope, is_reserved_user, resolve_thread_ref
from tests.unit.domain.strategies import printable, tenants

agents = st.from_regex(r"[a-z][a-z0-9_-]{0,5}", fullmatch=True)
slugs = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,4}[a-z0-9])?", fullmatch=True)
users = printable.filter(lambda text: len(text) <= 256)


@given(tenants, tenants, printable, printable)
def test_two_tenants_never_share_a_partition(one: str, other: str, first: str, second: str) -> None:
    assume(one != other and not any(is_reserved_user(user[:256]) for user in (first, second)))
    here, there = Scope(one, first[:256]), Scope(other, second[:256])
    ours, theirs = (
        {
            keys.user_listing(of),
            agent_keys.procedures(of, "assistant"),
            *keys.tenant_listings(of),
            *keys.audit_listings(of),
        }
        for of in (here, there)
    )
    assert not ours & theirs
    assert keys.partition(here, resolve_thread_ref(here, first).id) != keys.partition(
        there, resolve_thread_ref(there, first).id
    )
    assert all(key.startswith(f"{one}#") and not key.startswith(f"{other}#") for key in ours)


SCOPED = [
    (name, make)
    for module in (keys, agent_keys)
    for name, make in inspect.getmembers(module, callable)
    if make.__module__ in {module.__name__, key_forms.__name__} and not inspect.isclass(make)
    if not name.startswith("_") and "scope" in inspect.signature(make).parameters and make is not keys.thread_id_of
]
"""All that makes keys or partitions for a user."""


@pytest.mark.parametrize("make", [make for _, make in SCOPED], ids=[name for name, _ in SCOPED])
def test_every_partition_made_for_a_user_names_the_tenant(make: Callable[..., Any]) -> None:
    others = list(inspect.signature(make).parameters.values())[1:]
    arguments = {other.name: 7 if other.annotation == "int" else "an-id" for other in others}
    result = make(Scope("acme", "ada"), **arguments)
    partitions = [result["PK"]] if isinstance(result, dict) else [result] if isinstance(result, str) else result
    assert all(partition.startswith("acme#") for partition in partitions)


@given(tenants, users, users)
def test_two_users_never_share_a_list(tenant: str, one: str, other: str) -> None:
    assume(one != other)
    assert keys.user_listing(Scope(tenant, one)) != keys.user_listing(Scope(tenant, other))


@given(tenants, st.text("😀日é%#~", min_size=1, max_size=256))
def test_a_list_of_any_user_fits_an_index_key(tenant: str, user: str) -> None:
    assert len(keys.user_listing(Scope(tenant, user)).encode()) <= 2_048


@given(tenants, printable.filter(lambda text: len(text) <= 128), st.uuids())
def test_the_record_of_any_message_fits_a_sort_key(tenant: str, message_id: str, thread_id: object) -> None:
    key = keys.turn(Scope(tenant, "ada"), str(thread_id), message_id)
    assert len(key["SK"].encode()) <= 1_024
    assert len(key["PK"].encode()) <= 2_048


@given(st.integers(0, 10**12 - 1), st.integers(0, 10**12 - 1))
def test_messages_and_pieces_sort_by_their_numbers(one: int, other: int) -> None:
    assert (keys.message.make_sort_key(one) < keys.message.make_sort_key(other)) == (one < other)
    assert (keys.log.make_sort_key(one) < keys.log.make_sort_key(other)) == (one < other)
    assert (keys.feedback.make_sort_key(one) < keys.feedback.make_sort_key(other)) == (one < other)


@given(st.integers(0, 10**12 - 2), st.integers(0, 10**12 - 2), printable)
def test_the_records_of_a_run_lie_between_its_ordinal_and_the_next(one: int, other: int, record_id: str) -> None:
    scope = Scope("acme", "ada")
    for make_sort_key, key in ((keys.call.make_sort_key, keys.call), (keys.task.make_sort_key, keys.task)):
        result = key(scope, "t", one, record_id)["SK"]
        assert (make_sort_key(other) < result < make_sort_key(other + 1)) == (one == other)
        assert not make_sort_key(0) <= keys.task_place(scope, "t", record_id)["SK"] <= make_sort_key(10**12 - 1)


@given(agents, agents, slugs, slugs, st.integers(1, 10**6 - 1), st.integers(1, 10**6 - 1))
def test_every_skill_has_versions_of_its_own(
    agent: str, other_agent: str, slug: str, other_slug: str, version: int, later: int
) -> None:
    scope = Scope("acme", "ada")
    slug_keys, other_slug_keys = agent_keys.procedure_versions(slug), agent_keys.procedure_versions(other_slug)
    assert other_slug_keys.startswith(slug_keys) == (slug == other_slug)
    assert (agent_keys.procedures(scope, agent) == agent_keys.procedures(scope, other_agent)) == (agent == other_agent)
    assert agent_keys.procedures(scope, agent) != agent_keys.procedures(scope, "")
    one, other = (agent_keys.procedure_version(scope, agent, slug, number)["SK"] for number in (version, later))
    assert (one < other) == (version < later)


@given(tenants, st.uuids(), st.uuids())
def test_what_is_listed_has_a_partition_that_is_read(tenant: str, thread_id: object, record_id: object) -> None:
    scope = Scope(tenant, "ada")
    assert keys.idle_shards.of(str(thread_id)) in keys.idle_shards()
    assert keys.tenant_listings.of(scope, str(thread_id)) in keys.tenant_listings(scope)
    assert keys.audit_listings.of(scope, f"{0:015d}#{record_id}") in keys.audit_listings(scope)
    assert keys.audit(scope, None, f"{0:015d}#{record_id}")["PK"] in keys.audit_listings(scope)


def random_ids(count: int) -> list[str]:
    chance = random.Random(1)  # noqa: S311 - the same ids in every run
    return [str(UUID(int=chance.getrandbits(128), version=4)) for _ in range(count)]


def ids_of_one_moment(count: int) -> list[str]:
    """UUIDs of version 7, which begin with the time: clients may choose ids so."""
    return [f"01930b1c-5c00-7{number >> 60:03x}-8000-{number:012x}" for number in range(count)]


@pytest.mark.parametrize("ids", [random_ids(8_000), ids_of_one_moment(8_000)], ids=["random", "by time"])
def test_what_comes_at_the_same_time_is_spread_over_the_partitions(ids: list[str]) -> None:
    scope = Scope("acme", "ada")
    for shard, shards in (
        (keys.idle_shards.of, keys.idle_shards.count),
        (lambda thread_id: keys.tenant_listings.of(scope, thread_id), keys.tenant_listings.count),
        (lambda record_id: keys.audit_listings.of(scope, f"{1:015d}#{record_id}"), keys.tenant_listings.count),
    ):
        counts = Counter(map(shard, ids))
        assert len(counts) == shards
        assert max(counts.values()) < 1.25 * len(ids) / shards
