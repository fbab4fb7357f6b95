"""Call a Lambda REQUEST authorizer and interpret its answer as API Gateway does."""

import asyncio
import fnmatch
import logging
from typing import Any

from baton_local.functions import Invocable
from baton_local.gateway.socket_events import Handshake

logger = logging.getLogger("baton_local.gateway")


class Refused(Exception):
    """An error because a connection is refused before the upgrade: the status and the message of the answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


async def authorize(function: Invocable, handshake: Handshake) -> dict[str, Any]:
    """Call the authorizer and return its context for later events. Raises ``Refused``.

    The status is 401 if an identity source is missing, in which case the authorizer is not called, or if the authorizer
    raises an exception with the message "Unauthorized". It is 500 for other exceptions and for malformed answers, and
    403 if the policy does not allow the request.
    """
    if any(_read_identity(source, handshake) is None for source in handshake.api.identity_sources):
        raise Refused(401, "Unauthorized")
    event = handshake.make_authorizer_event()
    try:
        answer = await asyncio.wrap_future(function.invoke(event))
    except Exception as problem:
        if str(problem) == "Unauthorized":
            raise Refused(401, "Unauthorized") from problem
        logger.exception("The authorizer failed")
        raise Refused(500, "Internal server error") from problem
    try:
        effects = [
            statement["Effect"]
            for statement in answer["policyDocument"]["Statement"]
            if _covers(statement, event["methodArn"])
        ]
        context = {name: _format_value(value) for name, value in (answer.get("context") or {}).items()}
        principal = answer["principalId"]
    except (KeyError, TypeError, AttributeError) as problem:
        logger.exception("The authorizer's answer is malformed")
        raise Refused(500, "Internal server error") from problem
    if "Deny" in effects:
        raise Refused(403, "User is not authorized to access this resource with an explicit deny")
    if "Allow" not in effects:
        raise Refused(403, "User is not authorized to access this resource")
    return {**context, "principalId": principal, "integrationLatency": 0}


def _read_identity(source: str, handshake: Handshake) -> str | None:
    """Return the value of an identity source such as ``route.request.header.Sec-WebSocket-Protocol``, or None."""
    _, _, kind, name = source.split(".", 3)
    if kind == "header":
        values = [value for key, value in handshake.headers.items() if key.lower() == name.lower()]
        return values[0] if values else None
    return handshake.query.get(name, [None])[-1]


def _covers(statement: dict[str, Any], arn: str) -> bool:
    """Return whether a statement of a policy is about invoking the method ``arn``."""
    resources, actions = statement["Resource"], statement["Action"]
    return any(
        fnmatch.fnmatchcase(arn, pattern) for pattern in ([resources] if isinstance(resources, str) else resources)
    ) and any(
        fnmatch.fnmatchcase("execute-api:Invoke", pattern)
        for pattern in ([actions] if isinstance(actions, str) else actions)
    )


def _format_value(value: Any) -> str:
    """Return a context value as a string, as later events have it. Raises ``TypeError`` for objects and lists."""
    if isinstance(value, dict | list):
        raise TypeError("context values must be strings, numbers or booleans")
    return str(value).lower() if isinstance(value, bool) else str(value)
