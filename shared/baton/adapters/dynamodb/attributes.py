"""Items as DynamoDB sends them, and as plain Python values.

botocore reads a response shape by shape, which takes more than half of the CPU time of a request for a thread's
history. Here the shape is known: an item is a map of attribute values.
"""

from __future__ import annotations

import json
import uuid
from base64 import b64decode, b64encode
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from decimal import Clamped, Context, Decimal, Inexact, Overflow, Rounded, Underflow
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from botocore.model import OperationModel
    from mypy_boto3_dynamodb import DynamoDBClient

Item = dict[str, Any]

_NUMBERS = Context(Emin=-128, Emax=126, prec=38, traps=[Clamped, Inexact, Overflow, Rounded, Underflow])
"""The numbers that DynamoDB stores exactly
(https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_AttributeValue.html)."""

_ITEM_IN = {"GetItem": "Item", "PutItem": "Attributes", "UpdateItem": "Attributes", "DeleteItem": "Attributes"}
"""The members of responses that hold the item, by operation. Responses to Query are read here too."""


def serialize(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain values as attribute values, in the form that boto3's client takes.

    Raises ``TypeError`` for values of other types, and ``decimal.DecimalException`` for whole numbers that DynamoDB
    cannot store.
    """
    return {name: _to_attribute(value) for name, value in values.items()}


def deserialize(item: Mapping[str, Any]) -> Item:
    """Return an item of boto3's client as plain values. Numbers become ``int``: Baton stores whole numbers only."""
    return {name: _to_plain(value) for name, value in item.items()}


def pack_id(text: str) -> str | bytes:
    """Return a UUID in its usual form as 16 bytes, another id as it is."""
    try:
        packed = uuid.UUID(text)
    except ValueError:
        return text
    return packed.bytes if str(packed) == text else text


def unpack_id(stored: str | bytes) -> str:
    """Return the id that ``pack_id`` was given, or one that was stored as text."""
    return stored if isinstance(stored, str) else str(uuid.UUID(bytes=bytes(stored)))


def register_item_parser(client: DynamoDBClient) -> None:
    """Let ``client`` parse the items of its responses with this module. Its operations return the same as before."""
    client.meta.events.register("before-parse.dynamodb", _parse_response, unique_id="baton-items")


def _to_attribute(value: Any) -> dict[str, Any]:
    """Return the attribute value of a plain value. Raises as ``serialize`` does."""
    if type(value) is str:
        return {"S": value}
    if type(value) is bytes:
        return {"B": value}
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case int():
            return {"N": str(_NUMBERS.create_decimal(value))}
        case str():
            return {"S": str(value)}
        case Mapping():
            return {"M": {name: _to_attribute(member) for name, member in value.items()}}
        case list() | tuple():
            return {"L": [_to_attribute(member) for member in value]}
        case set() | frozenset():
            return _to_set_attribute(value)
    raise TypeError(f"DynamoDB stores no {type(value).__name__}.")


def _to_set_attribute(values: AbstractSet[Any]) -> dict[str, Any]:
    """Return the attribute value of a set, whose members are of one kind: texts, numbers or bytes."""
    members = [next(iter(_to_attribute(member).items())) for member in values]
    kinds = {kind for kind, _ in members}
    if len(kinds) != 1 or not kinds <= {"S", "N", "B"}:
        raise TypeError("DynamoDB stores only sets of texts, of numbers or of bytes, and no empty ones.")
    return {f"{kinds.pop()}S": [content for _, content in members]}


def _to_plain(value: Mapping[str, Any]) -> Any:
    """Return the plain value of an attribute value."""
    [(kind, content)] = value.items()
    match kind:
        case "S" | "B" | "BOOL":
            return content
        case "N":
            return int(Decimal(content))
        case "NULL":
            return None
        case "M":
            return deserialize(content)
        case "L":
            return [_to_plain(member) for member in content]
        case "SS" | "BS":
            return set(content)
        case "NS":
            return {int(Decimal(member)) for member in content}
    raise TypeError(f"DynamoDB has answered with a value of the unknown type {kind}.")


def _parse_response(
    operation_model: OperationModel, response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any
) -> None:
    """Handle botocore's event before it parses a response. Leave failures and other operations to botocore."""
    if response_dict["status_code"] != 200:
        return
    response = read_response(operation_model.name, response_dict["body"])
    if response is not None:
        customized_response_dict.update(response)
        response_dict["body"] = b"{}"


def write_request(request: Mapping[str, Any]) -> bytes:
    """Return a request, in the form that boto3's client takes, as JSON with bytes in base64."""
    return _to_json(request).encode()


_to_json = json.JSONEncoder(separators=(",", ":"), default=lambda data: b64encode(data).decode()).encode


def read_response(operation: str, body: bytes) -> dict[str, Any] | None:
    """Return a successful response as boto3's client returns it; None if it is left to botocore."""
    if operation != "Query" and operation not in _ITEM_IN:
        return None
    try:
        response: dict[str, Any] = json.loads(body)
    except ValueError:
        return None
    if operation == "Query":
        response["Items"] = [_decode_item(item) for item in response["Items"]]
        if "LastEvaluatedKey" in response:
            response["LastEvaluatedKey"] = _decode_item(response["LastEvaluatedKey"])
    elif (member := _ITEM_IN[operation]) in response:
        response[member] = _decode_item(response[member])
    return response


def _decode_item(item: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: _decode_value(value) for name, value in item.items()}


def _decode_value(value: dict[str, Any]) -> dict[str, Any]:
    """Return an attribute value of a JSON response, with bytes in place of base64."""
    [(kind, content)] = value.items()
    match kind:
        case "B":
            return {"B": b64decode(content)}
        case "BS":
            return {"BS": [b64decode(member) for member in content]}
        case "L":
            return {"L": [_decode_value(member) for member in content]}
        case "M":
            return {"M": _decode_item(content)}
    return value
