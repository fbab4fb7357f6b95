"""The actions and resources of functions' calls, as IAM sees them."""

from __future__ import annotations

from typing import Any

import pytest

from baton_local.roles.requests import Names, Request, find_listed_bucket, find_requests

NAMES = Names("api/local", "PK", {"test-1": "baton-Table"})
TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/baton-Table"
KEY = {"PK": {"S": "acme#1"}, "SK": {"S": "THREAD"}}
LEADING = {"dynamodb:LeadingKeys": ["acme#1"]}


@pytest.mark.parametrize(
    ("service", "operation", "parameters", "action", "resource"),
    [
        ("s3", "HeadObject", {"Bucket": "b", "Key": "k/1"}, "s3:GetObject", "arn:aws:s3:::b/k/1"),
        ("s3", "PutObject", {"Bucket": "b", "Key": "k"}, "s3:PutObject", "arn:aws:s3:::b/k"),
        ("s3", "ListObjectsV2", {"Bucket": "b"}, "s3:ListBucket", "arn:aws:s3:::b"),
        (
            "sqs",
            "SendMessageBatch",
            {"QueueUrl": "http://127.0.0.1:1/000000000000/turns.fifo"},
            "sqs:SendMessage",
            "arn:aws:sqs:us-east-1:000000000000:turns.fifo",
        ),
        ("stepfunctions", "StartExecution", {"stateMachineArn": "arn:m"}, "states:StartExecution", "arn:m"),
        (
            "secretsmanager",
            "GetSecretValue",
            {"SecretId": "baton/key"},
            "secretsmanager:GetSecretValue",
            "arn:aws:secretsmanager:us-east-1:000000000000:secret:baton/key-AbCdEf",
        ),
        (
            "ssm",
            "GetParameter",
            {"Name": "/baton/key"},
            "ssm:GetParameter",
            "arn:aws:ssm:us-east-1:000000000000:parameter/baton/key",
        ),
        (
            "apigatewaymanagementapi",
            "DeleteConnection",
            {"ConnectionId": "c="},
            "execute-api:ManageConnections",
            "arn:aws:execute-api:us-east-1:000000000000:api/local/DELETE/@connections/c=",
        ),
        ("polly", "SynthesizeSpeech", {}, "polly:SynthesizeSpeech", "*"),
    ],
)
def test_a_call_is_one_action_on_one_resource(
    service: str, operation: str, parameters: dict[str, Any], action: str, resource: str
) -> None:
    assert find_requests(service, operation, parameters, NAMES) == [Request(action, resource)]


@pytest.mark.parametrize(
    ("operation", "parameters"),
    [("GetItem", {"Key": KEY}), ("UpdateItem", {"Key": KEY}), ("DeleteItem", {"Key": KEY}), ("PutItem", {"Item": KEY})],
)
def test_a_call_on_an_item_names_its_partition(operation: str, parameters: dict[str, Any]) -> None:
    request = find_requests("dynamodb", operation, {"TableName": "test-1", **parameters}, NAMES)
    assert request == [Request(f"dynamodb:{operation}", TABLE, LEADING)]


def test_a_query_of_an_index_is_about_the_index() -> None:
    query = {
        "TableName": "test-1",
        "IndexName": "idle",
        "KeyConditionExpression": "idle_shard = :partition AND idle_check_at <= :last",
        "ExpressionAttributeValues": {":partition": {"S": "acme#1"}, ":last": {"N": "1"}},
    }
    [request] = find_requests("dynamodb", "Query", query, NAMES)
    assert request == Request("dynamodb:Query", f"{TABLE}/index/idle", LEADING)


def test_a_batch_asks_for_each_table_once() -> None:
    [request] = find_requests("dynamodb", "BatchGetItem", {"RequestItems": {"test-1": {"Keys": [KEY, KEY]}}}, NAMES)
    assert request == Request("dynamodb:BatchGetItem", TABLE, LEADING)


def test_a_transaction_asks_for_what_it_is_made_of() -> None:
    items = [{"Put": {"TableName": "test-1", "Item": KEY}}, {"ConditionCheck": {"TableName": "test-1", "Key": KEY}}]
    request = find_requests("dynamodb", "TransactWriteItems", {"TransactItems": items}, NAMES)
    assert [question.action for question in request] == ["dynamodb:PutItem", "dynamodb:ConditionCheckItem"]
    assert {question.context["dynamodb:EnclosingOperation"] for question in request} == {"TransactWriteItems"}  # type: ignore[comparison-overlap]


def test_reading_an_object_that_is_not_there_takes_leave_to_list_its_bucket() -> None:
    assert find_listed_bucket("s3", "GetObject", {"Bucket": "b", "Key": "k"}, NAMES) == "arn:aws:s3:::b"
    assert find_listed_bucket("s3", "PutObject", {"Bucket": "b", "Key": "k"}, NAMES) is None
