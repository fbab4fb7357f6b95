"""The REQUEST authorizer of ``$connect``, which decides whether a user may open a WebSocket.

Browsers cannot send an Authorization header with a WebSocket, so the token is sent as its second subprotocol:
``Sec-WebSocket-Protocol: baton.v1, <jwt>``.
"""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from baton import composition
from baton.composition.metrics import observed
from baton.domain.errors import Unauthorized
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import SUBPROTOCOL, Scope

HEADER = "sec-websocket-protocol"
MAX_SUBJECT = 6_500
"""The most characters of a sealed token and the permissions. API Gateway takes 8 KB of context, with names and ids."""

logger = Logger(use_rfc3339=True)
verifier = composition.deployed_ports().verifier  # built once per execution environment


@logger.inject_lambda_context(clear_state=True, log_event=False)  # the event holds the token
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Allow this ``$connect`` with the caller's identity, or make API Gateway answer 401."""
    answer = _decide(event)
    if answer is None:
        raise Exception("Unauthorized")  # API Gateway requires exactly this text
    return answer


@observed
def _decide(event: dict[str, Any]) -> dict[str, Any] | None:
    """Return the answer that allows the connection, or None to refuse it."""
    try:
        identity = verifier.verify(_read_token(event))
    except Unauthorized as error:
        logger.info("Connection refused", code=error.code)
        # Lambda counts the exception of a refusal as an error. The alarm subtracts the refusals that are counted here.
        count(Metric.CONNECTIONS_REFUSED)
        return None
    scope = identity.scope
    return {
        "principalId": scope.user_id,
        "policyDocument": {
            "Version": "2012-10-17",
            "Statement": [{"Action": "execute-api:Invoke", "Effect": "Allow", "Resource": event["methodArn"]}],
        },
        "context": {
            "tenant": scope.tenant_id,
            "user": scope.user_id,
            "permissions": " ".join(sorted(scope.permissions)),
            "expires": str(int(identity.expires_at.timestamp())),
            **({"name": scope.name} if scope.name is not None else {}),
            **({"locale": scope.locale} if scope.locale is not None else {}),
            **_make_subject_context(scope),
        },
    }


def _make_subject_context(scope: Scope) -> dict[str, str]:
    """Return the part of the context with the sealed token; empty if there is none, or if it is too long."""
    if scope.subject_token is None:
        return {}
    if len(scope.subject_token) + sum(map(len, scope.permissions)) > MAX_SUBJECT:
        logger.warning("The user's token is too long to be passed on from a WebSocket")
        return {}
    return {"subject": scope.subject_token}


def _read_token(event: dict[str, Any]) -> str:
    """Return the token among the subprotocols. Raises ``Unauthorized`` unless they are ``baton.v1`` and one token."""
    offered: list[str] = []
    single = event.get("headers") or {}
    headers = event.get("multiValueHeaders") or {name: [value] for name, value in single.items()}
    for name, values in headers.items():
        if name.lower() == HEADER:
            offered += [protocol.strip() for value in values for protocol in value.split(",")]
    if len(offered) != 2 or SUBPROTOCOL not in offered:
        logger.warning("Token refused: the subprotocols offered are not baton.v1 and one token.")
        raise Unauthorized
    offered.remove(SUBPROTOCOL)
    return offered[0]
