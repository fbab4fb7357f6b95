"""A stand-in: notifies a frame's connection that it was given up."""

import json
import os
from typing import Any

import boto3

connections = boto3.client("apigatewaymanagementapi", endpoint_url=os.environ["BATON_CONNECTIONS_URL"])


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    for record in event["Records"]:
        body = json.loads(record["body"])
        connections.post_to_connection(ConnectionId=body["connection"], Data=json.dumps({"dead": body["text"]}))
    return {"batchItemFailures": []}
