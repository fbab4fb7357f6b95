"""A stand-in: records events in the table and does what a frame asks for."""

import json
import os
from typing import Any

import boto3

table = boto3.resource("dynamodb").Table(os.environ["BATON_TABLE"])
sqs = boto3.client("sqs")


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    request = event["requestContext"]
    table.put_item(Item={"PK": request["connectionId"], "SK": request["eventType"], "event": json.dumps(event)})
    if request["eventType"] == "CONNECT":
        if (event.get("queryStringParameters") or {}).get("connect") == "refuse":
            return {"statusCode": 418, "body": "teapot"}
        if (event.get("queryStringParameters") or {}).get("connect") == "fail":
            raise RuntimeError("no")
        return {"statusCode": 200, "headers": {"Sec-WebSocket-Protocol": "baton.v1"}}
    if request["eventType"] == "MESSAGE":
        if event["body"] == "fail":
            raise RuntimeError("no")
        sqs.send_message(
            QueueUrl=os.environ["BATON_TURNS_QUEUE_URL"],
            MessageBody=json.dumps({"connection": request["connectionId"], "text": event["body"]}),
            MessageGroupId=request["connectionId"],
            MessageDeduplicationId=request["requestId"],
        )
    return {"statusCode": 200}
