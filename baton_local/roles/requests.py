"""Map AWS API calls to IAM actions and resources.

The map follows the Service Authorization Reference for the services that Baton uses. For calls of other services only
the action is known, and the resource is ``*``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from baton_local.account import ACCOUNT, REGION

Json = Mapping[str, Any]
Context = dict[str, str | list[str]]

OBJECT_ACTIONS = {"HeadObject": "GetObject", "CopyObject": "PutObject", "UploadPart": "PutObject"}
BUCKET_ACTIONS = {
    "HeadBucket": "ListBucket",
    "ListObjects": "ListBucket",
    "ListObjectsV2": "ListBucket",
    "ListObjectVersions": "ListBucketVersions",
}
TRANSACTED = {
    "ConditionCheck": "ConditionCheckItem",
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "Get": "GetItem",
}
HTTP_METHODS = {"PostToConnection": "POST", "DeleteConnection": "DELETE", "GetConnection": "GET"}

# Secrets Manager appends six random characters to the name of every secret.
SECRET_SUFFIX = "-AbCdEf"  # noqa: S105  part of an ARN


@dataclass(frozen=True)
class Request:
    """One action on one resource, as IAM evaluates it."""

    action: str
    resource: str
    """Its ARN, or ``*`` if the action has no resources."""
    context: Context = field(default_factory=dict)
    """IAM's condition keys and their values."""


@dataclass(frozen=True)
class Names:
    """Data about resources that calls on this machine do not contain."""

    socket_api: str
    """``API ID/STAGE`` of the WebSocket API, which the local management API's address lacks."""
    partition_key: str
    """The partition key of the table."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """The template's names of tables, buckets and queues, by their local names. Tests create additional ones."""


def find_requests(service: str, operation: str, parameters: Json, names: Names) -> list[Request]:
    """Return the IAM requests of an ``operation`` of ``service`` (botocore's names)."""
    match service:
        case "dynamodb":
            return list(_find_table_requests(operation, parameters, names))
        case "s3":
            return _find_object_requests(operation, parameters, names)
        case "sqs":
            name = str(parameters.get("QueueUrl", "*")).rpartition("/")[2]
            return [Request(f"sqs:{operation.removesuffix('Batch')}", _make_arn("sqs", names.aliases.get(name, name)))]
        case "stepfunctions":
            return [Request(f"states:{operation}", _find_first(parameters, "stateMachineArn", "executionArn"))]
        case "secretsmanager":
            secret = f"secret:{parameters.get('SecretId', '*')}{SECRET_SUFFIX}"
            return [Request(f"secretsmanager:{operation}", _make_arn("secretsmanager", secret))]
        case "ssm":
            names_of_parameters = parameters.get("Names") or [_find_first(parameters, "Name", "Path")]
            return [
                Request(f"ssm:{operation}", _make_arn("ssm", f"parameter/{name.lstrip('/')}"))
                for name in names_of_parameters
            ]
        case "events":
            return [
                Request(f"events:{operation}", _make_bus_arn(str(entry.get("EventBusName", "default"))))
                for entry in parameters.get("Entries", ())
            ]
        case "apigatewaymanagementapi":
            connection = f"{HTTP_METHODS[operation]}/@connections/{parameters['ConnectionId']}"
            return [
                Request("execute-api:ManageConnections", _make_arn("execute-api", f"{names.socket_api}/{connection}"))
            ]
    return [Request(f"{service}:{operation}", "*")]


def find_listed_bucket(service: str, operation: str, parameters: Json, names: Names) -> str | None:
    """Return the ARN of the bucket whose listing must be allowed for S3 to answer 404 for a missing object, or None."""
    if service == "s3" and operation in {"GetObject", "HeadObject"}:
        return _make_bucket_arn(parameters, names)
    return None


def _find_table_requests(operation: str, parameters: Json, names: Names) -> Iterator[Request]:
    """Yield the requests of an operation of DynamoDB, one for each table or item that it names."""

    def make_table_arn(name: str, index: str | None = None) -> str:
        arn = _make_arn("dynamodb", f"table/{names.aliases.get(name, name)}")
        return f"{arn}/index/{index}" if index else arn

    def make_context(*items: Json) -> Context:
        keys = sorted({value for item in items for value in item.get(names.partition_key, {}).values()})
        return {"dynamodb:LeadingKeys": keys} if keys else {}

    match operation:
        case "BatchGetItem":
            for name, request_item in parameters["RequestItems"].items():
                yield Request("dynamodb:BatchGetItem", make_table_arn(name), make_context(*request_item["Keys"]))
        case "BatchWriteItem":
            for name, writes in parameters["RequestItems"].items():
                items = [part for write in writes for kind in write.values() for part in kind.values()]
                yield Request("dynamodb:BatchWriteItem", make_table_arn(name), make_context(*items))
        case "TransactGetItems" | "TransactWriteItems":
            for item in parameters["TransactItems"]:
                for kind, part in item.items():
                    context = make_context(part.get("Key") or part.get("Item", {}))
                    context["dynamodb:EnclosingOperation"] = operation
                    yield Request(f"dynamodb:{TRANSACTED[kind]}", make_table_arn(part["TableName"]), context)
        case "Query":
            equals = re.search(r":\w+", parameters.get("KeyConditionExpression", ""))
            value = parameters.get("ExpressionAttributeValues", {}).get(equals[0] if equals else "", {})
            index = parameters.get("IndexName")
            partition = make_context({names.partition_key: value})
            yield Request("dynamodb:Query", make_table_arn(parameters["TableName"], index), partition)
        case _:
            key = parameters.get("Key") or parameters.get("Item", {})
            arn = make_table_arn(parameters.get("TableName", "*"), parameters.get("IndexName"))
            yield Request(f"dynamodb:{operation}", arn, make_context(key))


def _find_object_requests(operation: str, parameters: Json, names: Names) -> list[Request]:
    """Return the requests of an operation of S3 on objects or a bucket."""
    bucket = _make_bucket_arn(parameters, names)
    if operation == "DeleteObjects":
        objects = parameters["Delete"]["Objects"]
        return [
            Request(
                "s3:DeleteObjectVersion" if "VersionId" in deletion else "s3:DeleteObject",
                f"{bucket}/{deletion['Key']}",
            )
            for deletion in objects
        ]
    if "Key" in parameters:
        return [Request(f"s3:{OBJECT_ACTIONS.get(operation, operation)}", f"{bucket}/{parameters['Key']}")]
    return [Request(f"s3:{BUCKET_ACTIONS.get(operation, operation)}", bucket)]


def _make_bucket_arn(parameters: Json, names: Names) -> str:
    name = parameters.get("Bucket", "*")
    return f"arn:aws:s3:::{names.aliases.get(name, name)}"


def _find_first(parameters: Json, *names: str) -> str:
    """Return the first of the named parameters that is given; ``*`` if none is."""
    return next((str(parameters[name]) for name in names if name in parameters), "*")


def _make_bus_arn(name: str) -> str:
    """Return the ARN of an event bus, given by its name or ARN."""
    return name if name.startswith("arn:") else _make_arn("events", f"event-bus/{name}")


def _make_arn(service: str, resource: str) -> str:
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}"
