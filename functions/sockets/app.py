"""WebSocket routes: accept connections, and answer or queue frames."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from baton import composition
from baton.composition.metrics import observed
from baton.composition.startup import event_loop
from baton.domain.errors import RateLimited, TenantRemoved
from baton.domain.tenants.identity import SUBPROTOCOL, Scope
from baton.entry.actions import Caller

logger = Logger(use_rfc3339=True)
actions = composition.deployed().actions  # built once per execution environment


@logger.inject_lambda_context(clear_state=True, log_event=False)
@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer a connection, a disconnection or a frame of the WebSocket API.

    Return the status that API Gateway needs: that of a refusal for a refused connection, otherwise 200.
    """
    request = event["requestContext"]
    logger.append_keys(connection_id=request["connectionId"], request_id=request["requestId"])
    match request["eventType"]:
        case "CONNECT":
            composition.prepare_settings()
            try:
                event_loop.run(actions.admit_connection(_make_scope(request), request["connectionId"]))
            except (RateLimited, TenantRemoved) as error:
                logger.info("Connection refused", code=error.code)
                headers = {"Retry-After": str(error.retry_after)} if error.retry_after is not None else {}
                return {"statusCode": error.status, "headers": headers}
            # The client sent its token as a second subprotocol. Accept only ours, so that the token is not echoed.
            return {"statusCode": 200, "headers": {"Sec-WebSocket-Protocol": SUBPROTOCOL}}
        case "DISCONNECT":
            composition.prepare_settings()
            scope = _make_scope(request) if "authorizer" in request else None
            event_loop.run(actions.forget_connection(request["connectionId"], scope))
        case _:
            event_loop.run(actions.handle(_make_caller(request), event.get("body") or ""))
    return {"statusCode": 200}


def _make_scope(request: dict[str, Any]) -> Scope:
    """Return the user's scope from the authorizer's context."""
    identity = request["authorizer"]
    permissions = frozenset(identity["permissions"].split())
    return Scope(
        identity["tenant"],
        identity["user"],
        permissions,
        identity.get("subject"),
        name=identity.get("name"),
        locale=identity.get("locale"),
    )


def _make_caller(request: dict[str, Any]) -> Caller:
    """Return the user and the connection of a frame."""
    identity = request["authorizer"]
    return Caller(
        scope=_make_scope(request),
        connection_id=request["connectionId"],
        request_id=request["requestId"],
        token_expires_at=datetime.fromtimestamp(int(identity["expires"]), UTC),
        connected_at=datetime.fromtimestamp(request["connectedAt"] / 1000, UTC),
    )
