"""The events of a WebSocket API, as API Gateway gives them to its functions and to the authorizer."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from baton_local.account import ACCOUNT, REGION
from baton_local.gateway import identifiers
from baton_local.serving.asgi import Scope, read_multi_headers
from baton_local.stack.apis import SocketApi


@dataclass
class Handshake:
    """The data of a connection's opening request."""

    api: SocketApi
    scope: Scope
    connection_id: str = field(default_factory=identifiers.make_connection_id)
    connected_at: int = field(default_factory=identifiers.read_millis)
    """Milliseconds since the epoch."""
    authorizer: dict[str, Any] | None = None
    """The authorizer's context; None before its answer, and without an authorizer."""

    @property
    def source_ip(self) -> str:
        """The client's address."""
        return self.scope["client"][0] if self.scope.get("client") else "127.0.0.1"

    @property
    def user_agent(self) -> str | None:
        """The client's User-Agent; None if the request has none."""
        return self.headers.get("User-Agent")

    @property
    def multi_headers(self) -> dict[str, list[str]]:
        """Headers with API Gateway's capitals, all values."""
        return read_multi_headers(self.scope)

    @property
    def headers(self) -> dict[str, str]:
        """Headers with API Gateway's capitals, the last value of each."""
        return {name: values[-1] for name, values in self.multi_headers.items()}

    @property
    def query(self) -> dict[str, list[str]]:
        """Query parameters."""
        query: dict[str, list[str]] = {}
        for key, value in parse_qsl(self.scope["query_string"].decode("latin-1"), keep_blank_values=True):
            query.setdefault(key, []).append(value)
        return query

    def make_request_context(self, route_key: str, event_type: str) -> dict[str, Any]:
        """Return ``requestContext`` of one event."""
        millis = identifiers.read_millis()
        identity = {"sourceIp": self.source_ip}
        if self.user_agent:
            identity["userAgent"] = self.user_agent
        context: dict[str, Any] = {
            "routeKey": route_key,
            "eventType": event_type,
            "extendedRequestId": identifiers.make_short_id(),
            "requestTime": identifiers.format_request_time(millis),
            "messageDirection": "IN",
            "stage": self.api.stage,
            "connectedAt": self.connected_at,
            "requestTimeEpoch": millis,
            "identity": identity,
            "requestId": identifiers.make_request_id(),
            "domainName": self.headers.get("Host", "localhost"),
            "connectionId": self.connection_id,
            "apiId": self.api.api_id,
        }
        if self.authorizer is not None:
            context["authorizer"] = self.authorizer
        return context

    def make_authorizer_event(self) -> dict[str, Any]:
        """Return the event of a REQUEST authorizer."""
        return {
            "type": "REQUEST",
            "methodArn": f"arn:aws:execute-api:{REGION}:{ACCOUNT}:{self.api.api_id}/{self.api.stage}/$connect",
            **self._make_request_parts(),
            "stageVariables": {},
            "requestContext": self.make_request_context("$connect", "CONNECT"),
        }

    def make_connect_event(self) -> dict[str, Any]:
        """Return the ``$connect`` event."""
        event = {key: value for key, value in self._make_request_parts().items() if value}
        return {**event, "requestContext": self.make_request_context("$connect", "CONNECT"), "isBase64Encoded": False}

    def make_message_event(self, route_key: str, body: str) -> dict[str, Any]:
        """Return the event of a frame."""
        context = {**self.make_request_context(route_key, "MESSAGE"), "messageId": identifiers.make_short_id()}
        return {"requestContext": context, "body": body, "isBase64Encoded": False}

    def make_disconnect_event(self, status: int, reason: str) -> dict[str, Any]:
        """Return the ``$disconnect`` event; ``status`` is the close code."""
        context = {
            **self.make_request_context("$disconnect", "DISCONNECT"),
            "disconnectStatusCode": status,
            "disconnectReason": reason,
        }
        headers = {"Host": context["domainName"], "x-api-key": "", "X-Forwarded-For": "", "x-restapi": ""}
        return {
            "headers": headers,
            "multiValueHeaders": {name: [value] for name, value in headers.items()},
            "requestContext": context,
            "isBase64Encoded": False,
        }

    def _make_request_parts(self) -> dict[str, Any]:
        headers = {**self.multi_headers, "X-Forwarded-For": [self.source_ip]}
        return {
            "headers": {name: values[-1] for name, values in headers.items()},
            "multiValueHeaders": headers,
            "queryStringParameters": {name: values[-1] for name, values in self.query.items()},
            "multiValueQueryStringParameters": self.query,
        }
