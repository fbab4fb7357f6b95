"""Scopes and the ids of threads."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from baton.domain.errors import Forbidden, InvalidRequest
from baton.domain.tenants.identity import (
    MAX_EXTERNAL_ID,
    Scope,
    derive_message_id,
    derive_run_id,
    derive_thread_ref,
    is_printable,
    is_reserved_user,
    resolve_thread_ref,
)
from tests.unit.domain.strategies import printable, tenants

external_ids = printable.filter(lambda text: len(text) <= MAX_EXTERNAL_ID and not is_reserved_user(text))


@given(tenants, external_ids)
def test_a_scope_takes_every_proper_tenant_and_user(tenant: str, user: str) -> None:
    assert Scope(tenant, user).tenant_id == tenant


@pytest.mark.parametrize(
    "tenant", ["", "Acme", "a" * 64, "-a", "_a", "a#b", "a~", "~a", "a/b", "a\n", "ä", "a b", "a%", "\u0430"]
)
def test_a_tenant_id_that_could_leave_its_keys_is_refused(tenant: str) -> None:
    with pytest.raises(InvalidRequest):
        Scope(tenant, "ada")


@pytest.mark.parametrize("user", ["", "a" * 257, "a\n", "\x00", "a\u200bb", "\ud800", "\u2028", "me", ".", ".."])
def test_a_user_id_must_be_printable_and_unreserved(user: str) -> None:
    with pytest.raises(InvalidRequest):
        Scope("acme", user)


@given(st.text(st.characters()), st.integers(0, 20))
def test_what_is_printable_can_be_stored_and_shown(text: str, longest: int) -> None:
    if is_printable(text, longest):
        assert 1 <= len(text) <= longest
        assert text.encode().decode() == text
        assert not any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for character in text)


def test_a_scope_asks_for_permissions_by_name() -> None:
    scope = Scope("acme", "ada", frozenset({"thread:read_all"}))
    scope.require("thread:read_all")
    assert not scope.has("thread:read")
    with pytest.raises(Forbidden, match="audit:read"):
        scope.require("audit:read")


@given(tenants, external_ids)
def test_an_external_id_always_means_the_same_thread_of_its_user(tenant: str, given_id: str) -> None:
    first = resolve_thread_ref(Scope(tenant, "ada"), given_id)
    assert first == resolve_thread_ref(Scope(tenant, "ada", frozenset({"x"})), given_id)
    assert str(uuid.UUID(first.id)) == first.id


@given(tenants, external_ids, external_ids, external_ids)
def test_an_external_id_means_another_thread_for_another_user(tenant: str, one: str, other: str, given_id: str) -> None:
    assume(one != other)
    assume(not _is_uuid(given_id))
    assert resolve_thread_ref(Scope(tenant, one), given_id).id != resolve_thread_ref(Scope(tenant, other), given_id).id


@given(tenants, tenants, external_ids)
def test_an_external_id_means_another_thread_in_another_tenant(one: str, other: str, given_id: str) -> None:
    assume(one != other)
    assume(not _is_uuid(given_id))
    assert resolve_thread_ref(Scope(one, "ada"), given_id).id != resolve_thread_ref(Scope(other, "ada"), given_id).id


@given(tenants, external_ids, external_ids)
def test_two_external_ids_mean_two_threads(tenant: str, one: str, other: str) -> None:
    assume(one != other)
    assume(not _is_uuid(one))
    assume(not _is_uuid(other))
    scope = Scope(tenant, "ada")
    assert resolve_thread_ref(scope, one).id != resolve_thread_ref(scope, other).id


@given(tenants, external_ids)
def test_an_external_id_may_begin_a_thread_and_maps_to_version_5(tenant: str, given_id: str) -> None:
    assume(not _is_uuid(given_id))
    ref = resolve_thread_ref(Scope(tenant, "ada"), given_id)
    assert ref.may_create
    assert uuid.UUID(ref.id).version == 5


@given(tenants, external_ids)
def test_a_mapped_id_sent_back_finds_the_thread_but_never_begins_one(tenant: str, given_id: str) -> None:
    assume(not _is_uuid(given_id))
    scope = Scope(tenant, "ada")
    mapped = resolve_thread_ref(scope, given_id)
    second_ref = resolve_thread_ref(scope, mapped.id.upper())
    assert (second_ref.id, second_ref.may_create) == (mapped.id, False)


@given(st.uuids(), tenants)
def test_a_uuid_stands_for_itself_in_any_case_and_tenant(own: uuid.UUID, tenant: str) -> None:
    for spelling in (str(own), str(own).upper(), str(own).title()):
        ref = resolve_thread_ref(Scope(tenant, "ada"), spelling)
        assert (ref.id, ref.may_create) == (str(own), own.version != 5)


@given(st.uuids(version=4))
def test_what_only_looks_like_a_uuid_to_python_is_an_id_of_the_hosts(own: uuid.UUID) -> None:
    scope = Scope("acme", "ada")
    for spelling in (own.hex, f"{{{own}}}", own.urn, f" {own}"):
        ref = resolve_thread_ref(scope, spelling)
        assert ref.id != str(own)
        assert ref.may_create


@pytest.mark.parametrize("given_id", ["", "x" * 257, "a\x00b", "a\nb", "\ud83d", "\u200f", ".", ".."])
def test_a_thread_id_must_be_printable_and_fit_into_an_address(given_id: str) -> None:
    with pytest.raises(InvalidRequest):
        resolve_thread_ref(Scope("acme", "ada"), given_id)


@given(tenants, external_ids, external_ids)
def test_a_message_without_a_thread_has_one_of_its_own(tenant: str, user: str, message_id: str) -> None:
    scope = Scope(tenant, user)
    ref = derive_thread_ref(scope, message_id)
    assert ref.may_create
    assert ref == derive_thread_ref(scope, message_id)
    assert ref.id != resolve_thread_ref(scope, message_id).id
    assert ref.id != derive_thread_ref(Scope(tenant, user + "x"), message_id).id
    assert ref.id != derive_thread_ref(Scope(tenant + "x" if len(tenant) < 63 else "x", user), message_id).id
    # No user and message id can be cut in two places to mean the same.
    assert ref.id != derive_thread_ref(Scope(tenant, user + message_id[:1]), message_id[1:] or "x").id


@given(st.uuids(), external_ids)
def test_run_and_message_ids_are_the_same_for_every_retry(thread_id: uuid.UUID, message_id: str) -> None:
    run_id = derive_run_id(str(thread_id), message_id)
    assert run_id == derive_run_id(str(thread_id), message_id)
    numbers = [(attempt, index) for attempt in (1, 2, 11) for index in (1, 2, 11)]
    ids = {derive_message_id(str(thread_id), message_id, attempt, index) for attempt, index in numbers}
    assert len(ids) == 9


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
