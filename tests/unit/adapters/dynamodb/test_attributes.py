"""Items read without botocore's parser are the items that its parser reads."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from decimal import Decimal, DecimalException
from typing import Any

import pytest
from boto3.dynamodb.types import TypeSerializer
from boto3.session import Session
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.dynamodb.attributes import deserialize, register_item_parser, serialize

encoded = st.binary(max_size=20).map(lambda data: base64.b64encode(data).decode())
numbers = st.integers(-(10**37), 10**37).map(str)
leaves = st.one_of(
    st.text(max_size=20).map(lambda text: {"S": text}),
    numbers.map(lambda number: {"N": number}),
    encoded.map(lambda data: {"B": data}),
    st.booleans().map(lambda value: {"BOOL": value}),
    st.just({"NULL": True}),
    st.lists(st.text(max_size=5), min_size=1).map(lambda texts: {"SS": texts}),
    st.lists(numbers, min_size=1).map(lambda several: {"NS": several}),
    st.lists(encoded, min_size=1).map(lambda several: {"BS": several}),
)
attributes: st.SearchStrategy[dict[str, Any]] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda values: {"L": values}),
        st.dictionaries(st.text(max_size=5), inner, max_size=3).map(lambda values: {"M": values}),
    ),
    max_leaves=8,
)
items = st.dictionaries(st.text(min_size=1, max_size=8), attributes, max_size=5)
consumed = {"TableName": "table", "CapacityUnits": 1.5}
answers = st.one_of(
    st.tuples(st.just("get_item"), st.just({}) | items.map(lambda item: {"Item": item})),
    st.tuples(
        st.sampled_from(["put_item", "update_item", "delete_item"]),
        st.just({}) | items.map(lambda item: {"Attributes": item, "ConsumedCapacity": consumed}),
    ),
    st.tuples(
        st.just("query"),
        st.builds(
            lambda value, last: {"Items": value, "Count": len(value), "ScannedCount": len(value), **last},
            st.lists(items, max_size=3),
            st.just({}) | items.map(lambda key: {"LastEvaluatedKey": key}),
        ),
    ),
    st.tuples(
        st.just("batch_get_item"),
        items.map(lambda item: {"Responses": {"table": [item]}, "UnprocessedKeys": {"table": {"Keys": [item]}}}),
    ),
)


class Body(io.BytesIO):
    """The body of an answer, as urllib3 streams it."""

    def stream(self, *_: Any, **__: Any) -> list[bytes]:
        return [self.read()]


class Server:
    """A server that answers clients' requests in place of AWS."""

    def __init__(self) -> None:
        self.status, self.body = 200, b"{}"

    def client(self, *changes: Callable[[Any], None]) -> Any:
        session = Session("AKID", "secret", "token", region_name="eu-central-1")
        config = Config(parameter_validation=False, retries={"total_max_attempts": 1, "mode": "standard"})
        client = session.client("dynamodb", config=config)
        client.meta.events.register_first("before-send.dynamodb", self._answer)
        for change in changes:
            change(client)
        return client

    def _answer(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        headers: Any = {"x-amzn-RequestId": "1", "Content-Type": "application/x-amz-json-1.0"}
        return AWSResponse(request.url, self.status, headers, Body(self.body))


@pytest.fixture(scope="module")
def server() -> Server:
    return Server()


@pytest.fixture(scope="module")
def botocore_client(server: Server) -> Any:
    return server.client()


@pytest.fixture(scope="module")
def client(server: Server) -> Any:
    return server.client(register_item_parser)


@given(answers)
def test_every_answer_is_what_botocore_reads(
    server: Server, botocore_client: Any, client: Any, answer: tuple[str, dict[str, Any]]
) -> None:
    operation, body = answer
    server.status, server.body = 200, json.dumps(body).encode()
    request = {"RequestItems": {"table": {"Keys": []}}} if operation == "batch_get_item" else {"TableName": "table"}
    assert getattr(client, operation)(**request) == getattr(botocore_client, operation)(**request)


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"Item": {"body": {"B": "'])
def test_an_answer_that_is_no_json_is_left_to_botocore(
    server: Server, botocore_client: Any, client: Any, body: bytes
) -> None:
    server.status, server.body = 200, body
    assert client.get_item(TableName="table") == botocore_client.get_item(TableName="table")


def test_a_refused_write_still_shows_the_existing_item(server: Server, client: Any) -> None:
    server.status = 400
    server.body = json.dumps(
        {"__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException", "Item": {"body": {"B": "aGk="}}}
    ).encode()
    with pytest.raises(ClientError) as refused:
        client.put_item(TableName="table")
    assert refused.value.response["Error"]["Code"] == "ConditionalCheckFailedException"
    assert deserialize(refused.value.response["Item"]) == {"body": b"hi"}  # type: ignore[typeddict-item]


whole = st.integers(-(10**37), 10**37)
values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.text(max_size=20),
        st.binary(max_size=20),
        whole,
        st.booleans(),
        st.none(),
        st.sets(st.text(max_size=5), min_size=1),
        st.sets(whole, min_size=1),
        st.sets(st.binary(max_size=5), min_size=1),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=8), values))
def test_plain_values_are_written_as_boto3_writes_them_and_come_back(item: dict[str, Any]) -> None:
    written = serialize(item)
    assert written == {name: TypeSerializer().serialize(value) for name, value in item.items()}
    assert deserialize(written) == item


@pytest.mark.parametrize(
    "value", [1.5, [1.5], {"in": {1.5}}, set(), {1, "a"}, {None}, object(), 10**39 + 1, Decimal("Infinity")]
)
def test_what_the_table_cannot_store_exactly_is_refused(value: Any) -> None:
    with pytest.raises((TypeError, DecimalException)):
        serialize({"name": value})
