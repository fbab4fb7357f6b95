"""A stand-in: answers a queued frame on its connection."""

import contextlib
import json
import os
import threading
from typing import Any

import boto3

connections = boto3.client("apigatewaymanagementapi", endpoint_url=os.environ["BATON_CONNECTIONS_URL"])
sqs = boto3.client("sqs")


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    if event.get("wait"):
        threading.Event().wait()
    [record] = event["Records"]
    body = json.loads(record["body"])
    if body["text"] == "poison":
        sqs.change_message_visibility(
            QueueUrl=os.environ["BATON_TURNS_QUEUE_URL"], ReceiptHandle=record["receiptHandle"], VisibilityTimeout=0
        )
        return {"batchItemFailures": [{"itemIdentifier": record["messageId"]}]}
    data = json.dumps({"answer": body["text"], "attributes": record["attributes"]})
    with contextlib.suppress(connections.exceptions.GoneException):
        connections.post_to_connection(ConnectionId=body["connection"], Data=data)
    return {"batchItemFailures": []}
