"""Callers who are not signed in, who lack a permission, or whose tenant has reached a limit."""

from __future__ import annotations

from baton.domain.errors.base import BatonError


class Unauthorized(BatonError):
    """No token, or an invalid one."""

    code, status, retryable = "unauthorized", 401, False
    title = "Not signed in"
    detail = "Send a valid bearer token."


class TokenExpired(Unauthorized):
    """A valid token that has expired."""

    code = "token_expired"
    title = "The token has expired"
    detail = "Get a new token and connect again."


class Forbidden(BatonError):
    """A permission is missing."""

    code, status, retryable = "forbidden", 403, False
    title = "Not permitted"
    detail = "You do not have the permission this needs."


class OriginRefused(BatonError):
    """A web page of an origin that is not allowed has sent the request. It guards MCP against rebound host names."""

    code, status, retryable = "origin_refused", 403, False
    title = "Web page not permitted"
    detail = "Pages of this origin may not call this address. The operator allows origins in BATON_ALLOWED_ORIGINS."


class LimitReached(BatonError):
    """The tenant has as much of something as its limits allow."""

    code, status, retryable = "limit_reached", 409, False
    title = "A limit is reached"
    detail = "A limit of your organisation is reached. Its administrators can raise it."


class LimitsChanged(BatonError):
    """The tenant's limits are not what the caller takes them to be: somebody else has changed them."""

    code, status, retryable = "limits_changed", 412, False
    title = "The limits have changed"
    detail = "The limits have changed since you read them: read them again and repeat your change."
