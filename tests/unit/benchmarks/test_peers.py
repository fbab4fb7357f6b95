"""The counting and the tables of the comparison with other projects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.capacity import Request
from benchmarks.peers.catalogue import PEERS, Peer
from benchmarks.peers.scenarios import Conversation, Kill, Repeat, Times, Writers
from benchmarks.peers.storage_proxy import StorageProxy, Usage
from benchmarks.peers.tables import Result, format_costs, format_faults, format_times


@pytest.fixture
def proxy() -> Iterator[StorageProxy]:
    proxy = StorageProxy("http://127.0.0.1:9", "http://127.0.0.1:9")
    yield proxy
    proxy.stop()


def cells(table: str, row: int = 0) -> list[str]:
    return [cell.strip() for cell in table.splitlines()[2 + row].strip("|").split("|")]


def conversation() -> Conversation:
    usage = Usage([Request("PutItem", "other", 400), Request("Query", "other", 800.0)], s3_reads=1_000, s3_writes=100)
    fast, slow = Times(0.010, 0.1), Times(0.020, 0.25)
    return Conversation(100, usage, (fast, slow), (slow, slow))


def test_the_price_is_that_of_a_thousand_such_conversations() -> None:
    table = format_costs([Result(PEERS[0], conversation())])
    usd = 1_000 * (400 * 0.000000625 + 800 * 0.000000125 + 100 * 0.000005 + 1_000 * 0.0000004)
    assert cells(table) == ["Baton", "1,102", "400", "800", "100 / 1,000", f"{usd:.2f}"]


def test_a_store_that_costs_no_units_has_no_price() -> None:
    table = format_costs([Result(Peer("P", "p", stored_in="SQLite"), conversation()), Result(Peer("Q", "q"))])
    assert cells(table)[1:] == ["none"] * 5
    assert cells(table, 1)[1:] == ["-"] * 5


def test_times_are_shown_without_and_with_the_delay() -> None:
    table = format_times([Result(PEERS[0], conversation())])
    assert cells(table) == ["Baton", "10 / 20", "100 / 250", "20 / 20", "250 / 250"]
    assert "first, turn 100" in table


def test_messages_are_lost_that_are_not_stored() -> None:
    result = Result(
        PEERS[0],
        None,
        Writers(5, questions=8, answers=5, errors=1),
        Kill(question=True, answer="part", next_turn="answered"),
        Repeat(2, 1, 2),
    )
    row = cells(format_faults([result]))
    assert row[1:] == ["7 of 20 (1 got an error)", "yes", "part", "answered", "2", "1", "2"]


def test_charged_requests_of_any_table_are_counted(proxy: StorageProxy) -> None:
    written = {"TableName": "t", "Item": {"pk": {"S": "a"}, "data": {"B": b"x" * 1_500}}}
    proxy.count_dynamodb("PutItem", written, 200, {"ConsumedCapacity": {"CapacityUnits": 2.0}})
    refusal = {"__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}
    proxy.count_dynamodb("PutItem", written, 400, refusal)
    proxy.count_dynamodb("GetItem", {"Key": {"pk": {"S": "a"}}}, 200, {"ConsumedCapacity": {"CapacityUnits": 0.0}})
    proxy.count_dynamodb("DescribeTable", {}, 200, {})
    for method, query in (("PUT", ""), ("GET", ""), ("GET", "list-type=2&prefix=a"), ("DELETE", "")):
        proxy.count_s3(method, query)
    usage = proxy.take()
    assert (usage.write_units, usage.read_units, len(usage.requests)) == (4.0, 0.5, 3)
    assert (usage.s3_writes, usage.s3_reads, proxy.take().count) == (2, 1, 0)


@pytest.mark.parametrize("peer", PEERS[1:], ids=lambda peer: peer.name)
def test_the_version_of_a_peer_is_pinned(peer: Peer) -> None:
    assert peer.find_version().removeprefix(peer.package).strip()
