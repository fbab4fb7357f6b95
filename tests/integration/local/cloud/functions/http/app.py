"""A stand-in: gives the event back, or what a path asks for."""

import base64
import json
from typing import Any


def handler(event: dict[str, Any], context: Any) -> Any:
    match event["path"]:
        case "/fail":
            raise RuntimeError("no")
        case "/malformed":
            return "text"
        case "/cookies":
            return {"statusCode": 201, "multiValueHeaders": {"Set-Cookie": ["a=1", "b=2"]}, "body": ""}
        case "/binary":
            body = base64.b64encode(bytes(range(256))).decode()
            headers = {"Content-Type": "application/octet-stream"}
            return {"statusCode": 200, "headers": headers, "isBase64Encoded": True, "body": body}
    seconds = context.get_remaining_time_in_millis() / 1000
    return {"statusCode": 200, "body": json.dumps({"event": event, "seconds": seconds, "name": context.function_name})}
