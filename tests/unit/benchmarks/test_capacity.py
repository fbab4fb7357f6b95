"""The cost counter adds up what DynamoDB charges."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from benchmarks.capacity import CapacityMeter, Request, count_by_operation, find_requests, find_target, measure_item

MESSAGE = {"PK": {"S": "acme#1"}, "SK": {"S": "MSG#000000000007"}}
THREAD = {"PK": {"S": "acme#1"}, "SK": {"S": "THREAD"}}


def make_consumed(total: float, **indexes: float) -> dict[str, Any]:
    return {
        "CapacityUnits": total,
        "GlobalSecondaryIndexes": {name: {"CapacityUnits": units} for name, units in indexes.items()},
    }


def test_units_of_indexes_are_part_of_the_total() -> None:
    [request] = find_requests(
        "UpdateItem", {"Key": THREAD}, {"ConsumedCapacity": make_consumed(3.0, idle=1.0, listing=1.0)}
    )
    assert (request.write_units, request.index_units, request.read_units) == (3.0, 2.0, 0.0)


def test_a_read_spends_no_write_units() -> None:
    [request] = find_requests("GetItem", {"Key": THREAD}, {"ConsumedCapacity": make_consumed(1.5)})
    assert (request.read_units, request.write_units) == (1.5, 0.0)


@pytest.mark.parametrize(("consistent", "units"), [(True, 1.0), (False, 0.5)])
def test_finding_nothing_is_not_free(consistent: bool, units: float) -> None:
    params = {"Key": THREAD, "ConsistentRead": consistent}
    [request] = find_requests("GetItem", params, {"ConsumedCapacity": make_consumed(0.0)})
    assert request.read_units == units


def test_a_refused_write_is_charged_for_the_larger_item() -> None:
    old, new = {"a": {"S": "x" * 2500}}, {**MESSAGE, "a": {"S": "x"}}
    answer = {"Error": {"Code": "ConditionalCheckFailedException"}, "Item": old}
    [request] = find_requests("PutItem", {"Item": new}, answer)
    assert request.refused
    assert request.write_units == 3.0


def test_a_transaction_is_charged_twice() -> None:
    large = {**MESSAGE, "body": {"B": b"x" * 1500}}
    requests = find_requests(
        "TransactWriteItems", {"TransactItems": [{"Put": {"Item": large}}, {"Put": {"Item": THREAD}}]}, {}
    )
    assert [request.write_units for request in requests] == [4.0, 2.0]


def test_several_tables_are_added_up() -> None:
    answer = {"ConsumedCapacity": [make_consumed(2.0), make_consumed(0.5)]}
    [request] = find_requests("BatchGetItem", {"RequestItems": {}}, answer)
    assert (request.read_units, request.target) == (2.5, "several")


def test_an_item_is_as_large_as_its_names_and_values() -> None:
    item = {
        "name": {"S": "Zoë"},  # 4 + 4
        "n": {"N": "-12345"},  # 1 + 5
        "body": {"B": b"12345"},  # 4 + 5
        "ok": {"BOOL": True},  # 2 + 1
        "list": {"L": [{"S": "ab"}, {"NULL": True}]},  # 4 + 3 + 1 + 2 + 1 + 1
        "map": {"M": {"k": {"S": "v"}}},  # 3 + 3 + 1 + 2
        "set": {"SS": ["ab", "c"]},  # 3 + 3
    }
    assert measure_item(item) == 8 + 6 + 9 + 3 + 12 + 9 + 6


@pytest.mark.parametrize(
    ("params", "target"),
    [
        ({"Key": THREAD}, "THREAD"),
        ({"Item": MESSAGE}, "MSG"),
        ({"Key": {"PK": {"S": "~CONN#abc"}, "SK": {"S": "AT#acme#1"}}}, "~CONN"),
        ({"ExpressionAttributeValues": {":partition": {"S": "acme#1"}, ":prefix": {"S": "LIVE#"}}}, "LIVE"),
        ({"IndexName": "listing", "ExpressionAttributeValues": {}}, "index listing"),
    ],
)
def test_requests_are_named_after_the_kind_of_item(params: dict[str, Any], target: str) -> None:
    assert find_target(params) == target


def test_retries_are_requests_too() -> None:
    requests = [Request("PutItem", "MSG", 1.0), Request("GetItem", "THREAD", 1.0, attempts=3)]
    assert count_by_operation(requests) == {"GetItem": 3, "PutItem": 1}


def test_a_watched_client_asks_for_capacity_and_is_counted() -> None:
    client = boto3.session.Session("key", "secret", region_name="us-east-1").client("dynamodb")
    meter = CapacityMeter()
    meter.attach(client)
    with Stubber(client) as stub:
        params = {"TableName": "table", "Item": MESSAGE, "ReturnConsumedCapacity": "INDEXES"}
        stub.add_response("put_item", {"ConsumedCapacity": make_consumed(2.0)}, params)
        stub.add_client_error("put_item", "ConditionalCheckFailedException", expected_params=params)
        client.put_item(TableName="table", Item=MESSAGE)
        with pytest.raises(client.exceptions.ConditionalCheckFailedException):
            client.put_item(TableName="table", Item=MESSAGE)
    client.close()
    taken = meter.take()
    assert [(request.target, request.write_units, request.refused) for request in taken] == [
        ("MSG", 2.0, False),
        ("MSG", 1.0, True),
    ]
    assert meter.take() == ()
