"""Senders of a queue's messages take turns, however many of them one has sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton_local.gateway.callers import Caller
from baton_local.workers.backlog import Backlog


def in_turn(*senders: tuple[str, str]) -> list[str]:
    """The users in the order of their turns, each followed by the number of the message among theirs."""
    backlog: Backlog[str] = Backlog()
    for number, (tenant, user) in enumerate(senders):
        backlog.add(Caller(tenant, user), f"{user}{number}")
    return [backlog.take() for _ in range(len(backlog))]


def test_a_colleague_is_served_next_and_other_tenants_take_turns() -> None:
    flood = [("acme", "ada")] * 4
    assert in_turn(*flood, ("acme", "bob"), ("other", "cyd")) == ["ada0", "cyd5", "bob4", "ada1", "ada2", "ada3"]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"))))
def test_all_are_served_and_those_of_a_sender_in_their_order(senders: list[tuple[str, str]]) -> None:
    backlog: Backlog[int] = Backlog()
    for number, sender in enumerate(senders):
        backlog.add(Caller(*sender), number)
    taken = [backlog.take() for _ in senders]
    assert sorted(taken) == list(range(len(senders)))
    for sender in set(senders):
        own = [number for number in taken if senders[number] == sender]
        assert own == sorted(own)
    with pytest.raises(LookupError):
        backlog.take()
