"""REST API proxy events (payload format 1.0), and the responses made of functions' results."""

import base64
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from baton_local.account import ACCOUNT
from baton_local.gateway import identifiers
from baton_local.gateway.rest_routes import Match
from baton_local.serving.asgi import Scope, read_multi_headers
from baton_local.stack.apis import RestApi


class MalformedAnswer(Exception):
    """An error because a function's result is not valid for a proxy integration."""


def make_request_context(api: RestApi, scope: Scope, match: Match, request_id: str) -> dict[str, Any]:
    """Return ``requestContext`` of a REST proxy event."""
    headers = read_multi_headers(scope)
    millis = identifiers.read_millis()
    host = headers.get("Host", ["localhost"])[-1]
    return {
        "accountId": ACCOUNT,
        "apiId": api.api_id,
        "domainName": host,
        "domainPrefix": host.partition(".")[0],
        "extendedRequestId": identifiers.make_short_id(),
        "httpMethod": scope["method"],
        "identity": {
            "accessKey": None,
            "accountId": None,
            "apiKey": None,
            "caller": None,
            "sourceIp": scope["client"][0] if scope.get("client") else "127.0.0.1",
            "user": None,
            "userAgent": headers.get("User-Agent", [None])[-1],
            "userArn": None,
        },
        "path": f"/{api.stage}{read_raw_path(scope)}",
        "protocol": f"HTTP/{scope.get('http_version', '1.1')}",
        "requestId": request_id,
        "requestTime": identifiers.format_request_time(millis),
        "requestTimeEpoch": millis,
        "resourceId": "local",
        "resourcePath": match.route.path,
        "stage": api.stage,
    }


def make_proxy_event(
    api: RestApi, scope: Scope, match: Match, context: Mapping[str, Any], body: bytes
) -> dict[str, Any]:
    """Return the event that a REST proxy integration gives its function."""
    headers = {
        **read_multi_headers(scope),
        "X-Forwarded-Port": [_read_port(scope)],
        "X-Forwarded-Proto": [scope["scheme"]],
    }
    headers.setdefault("X-Forwarded-For", [context["identity"]["sourceIp"]])
    query: dict[str, list[str]] = {}
    for key, value in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True):
        query.setdefault(key, []).append(value)
    is_binary = _is_binary(api, headers.get("Content-Type", [""])[-1])
    text = base64.b64encode(body).decode() if is_binary else body.decode("utf-8", "replace")
    return {
        "resource": match.route.path,
        "path": read_raw_path(scope),
        "httpMethod": scope["method"],
        "headers": {name: values[-1] for name, values in headers.items()},
        "multiValueHeaders": headers,
        "queryStringParameters": {name: values[-1] for name, values in query.items()} or None,
        "multiValueQueryStringParameters": query or None,
        "pathParameters": match.parameters or None,
        "stageVariables": None,
        "requestContext": dict(context),
        "body": text if body else None,
        "isBase64Encoded": bool(body) and is_binary,
    }


def read_answer(api: RestApi, scope: Scope, result: Any) -> tuple[int, list[tuple[str, str]], bytes]:
    """Return the status, headers and body for a function's result. Raises ``MalformedAnswer``.

    As in API Gateway, a body in base64 is decoded only if the first media type that the request accepts is binary.
    """
    if not isinstance(result, dict) or "statusCode" not in result:
        raise MalformedAnswer(f"expected a dict with statusCode, got {type(result).__name__}")
    try:
        status = int(result["statusCode"])
        multiple = {name: list(map(str, values)) for name, values in (result.get("multiValueHeaders") or {}).items()}
        single = {name: str(value) for name, value in (result.get("headers") or {}).items()}
        body = result.get("body") or ""
        raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    except (AttributeError, TypeError, ValueError) as problem:
        raise MalformedAnswer(str(problem)) from problem
    lower_names = {name.lower() for name in multiple}
    headers = [(name, value) for name, values in multiple.items() for value in values]
    headers += [(name, value) for name, value in single.items() if name.lower() not in lower_names]
    if result.get("isBase64Encoded") and _is_binary(
        api, read_multi_headers(scope).get("Accept", [""])[-1].split(",")[0]
    ):
        try:
            raw = base64.b64decode(raw)
        except ValueError as problem:
            raise MalformedAnswer(f"the body is not base64: {problem}") from problem
    return status, [(name, value) for name, value in headers if name.lower() != "content-length"], raw


def read_raw_path(scope: Scope) -> str:
    """Return the request's path as it was sent, percent-encoded, because REST APIs do not decode it."""
    path: str = scope["raw_path"].decode("latin-1")
    return path


def _is_binary(api: RestApi, content_type: str) -> bool:
    essence = content_type.partition(";")[0].strip().lower()
    return "*/*" in api.binary_media_types or essence in api.binary_media_types


def _read_port(scope: Scope) -> str:
    return str(scope["server"][1]) if scope.get("server") else "443"
