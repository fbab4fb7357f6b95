"""A stand-in: lets in users whose second subprotocol is ``good``; other words name other outcomes."""

from typing import Any


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    token = event["headers"]["Sec-WebSocket-Protocol"].partition(", ")[2]
    if token == "unauthorized":
        raise Exception("Unauthorized")
    if token == "broken":
        raise ValueError("broken")
    return {
        "principalId": "user-1",
        "policyDocument": {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Action": "execute-api:Invoke",
                    "Effect": "Deny" if token == "deny" else "Allow",
                    "Resource": "arn:aws:execute-api:*:*:other/*" if token == "elsewhere" else event["methodArn"],
                }
            ],
        },
        "context": {"tenant": "acme", "expires": 17, "admin": True},
    }
