"""Create the template's table, queues, buckets, secrets and state machines in the engines of this machine."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from baton_local.account import ACCOUNT
from baton_local.engines.clients import client
from baton_local.errors import TemplateProblem
from baton_local.stack.declarations import QueueDefinition, Stack, StateMachineDefinition

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_secretsmanager.client import SecretsManagerClient
    from mypy_boto3_sqs.client import SQSClient

TABLE_PROPERTIES = (
    "TableName",
    "AttributeDefinitions",
    "KeySchema",
    "BillingMode",
    "GlobalSecondaryIndexes",
    "LocalSecondaryIndexes",
    "StreamSpecification",
)
"""The supported parameters of CreateTable. DynamoDB Local has no tags and no point-in-time recovery."""


def create_all(
    stack: Stack, environment: Mapping[str, str], secrets: Mapping[str, str], *, visibility_seconds: int | None
) -> None:
    """Create the table, queues, buckets and secrets of a stack. State machines are created at first use.

    ``environment`` has the addresses of services. ``secrets`` are values by name, ``{}`` for others of the stack.
    ``visibility_seconds`` replaces the queues' visibility timeout; None keeps it.
    """
    create_table(client("dynamodb", environment["AWS_ENDPOINT_URL_DYNAMODB"]), stack.table)
    queues = stack.queues
    if visibility_seconds is not None:
        seconds = {"VisibilityTimeout": str(visibility_seconds)}
        queues = tuple(replace(queue, attributes={**queue.attributes, **seconds}) for queue in queues)
    create_queues(client("sqs", environment["AWS_ENDPOINT_URL_SQS"]), queues)
    s3 = client("s3", environment["AWS_ENDPOINT_URL_S3"])
    for bucket in stack.buckets:
        create_bucket(s3, bucket)
    manager = client("secretsmanager", environment["AWS_ENDPOINT_URL"])
    for name in {*stack.secrets, *secrets} - {""}:
        put_secret(manager, name, secrets.get(name, "{}"))


def create_table(dynamodb: "DynamoDBClient", definition: Mapping[str, Any], name: str | None = None) -> str:
    """Create the table that the template defines, unless it exists; return its name.

    ``name`` replaces the template's, so that each test can have a separate table.
    """
    properties = {key: definition[key] for key in TABLE_PROPERTIES if key in definition}
    properties["TableName"] = table = name or definition["TableName"]
    try:
        dynamodb.create_table(**properties)
    except dynamodb.exceptions.ResourceInUseException:
        return table
    dynamodb.get_waiter("table_exists").wait(TableName=table, WaiterConfig={"Delay": 1})
    expiry = definition.get("TimeToLiveSpecification")
    if expiry and expiry.get("Enabled"):
        dynamodb.update_time_to_live(
            TableName=table, TimeToLiveSpecification={"AttributeName": expiry["AttributeName"], "Enabled": True}
        )
    return table


def create_queues(sqs: "SQSClient", queues: Iterable[QueueDefinition]) -> dict[str, str]:
    """Create the queues, dead-letter queues first. Return their URLs by name."""
    urls = {}
    for queue in sorted(queues, key=lambda queue: queue.dead_letters_to is not None):
        attributes: dict[Any, str] = dict(queue.attributes)
        if queue.dead_letters_to:
            attributes["RedrivePolicy"] = json.dumps(
                {"deadLetterTargetArn": queue.dead_letters_to, "maxReceiveCount": str(queue.receives_before_that)}
            )
        try:
            urls[queue.name] = sqs.create_queue(QueueName=queue.name, Attributes=attributes)["QueueUrl"]
        except sqs.exceptions.QueueNameExists:  # kept from an earlier run of another template
            urls[queue.name] = sqs.get_queue_url(QueueName=queue.name)["QueueUrl"]
            sqs.set_queue_attributes(QueueUrl=urls[queue.name], Attributes=attributes)
    return urls


def create_bucket(s3: "S3Client", name: str) -> None:
    """Create the bucket, unless it exists."""
    existing = [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]
    if name not in existing:
        s3.create_bucket(Bucket=name)


def put_secret(secrets: "SecretsManagerClient", name: str, value: str) -> None:
    """Set the secret to ``value``, and create it if it does not exist."""
    try:
        secrets.create_secret(Name=name, SecretString=value)
    except secrets.exceptions.ResourceExistsException:
        secrets.put_secret_value(SecretId=name, SecretString=value)


def create_state_machine(stepfunctions: Any, machine: StateMachineDefinition, definition: str) -> None:
    """Create the state machine. Its role has no effect on this machine. Raises ``TemplateProblem``."""
    try:
        created = stepfunctions.create_state_machine(
            name=machine.name, definition=definition, roleArn=f"arn:aws:iam::{ACCOUNT}:role/{machine.name}"
        )
    except (BotoCoreError, ClientError) as problem:
        raise TemplateProblem(f"The state machine {machine.name} cannot be created: {problem}") from problem
    if created["stateMachineArn"] != machine.arn:
        raise TemplateProblem(f"The state machine {machine.arn} was created as {created['stateMachineArn']}.")
