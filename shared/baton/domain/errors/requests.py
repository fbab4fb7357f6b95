"""Requests that are refused: without a valid sign-in or permission, over a limit, or not of the required shape."""

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
    detail = (
        "Pages of this origin may not call this address. The operator allows origins in allowedOrigins of the settings."
    )


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


class InvalidRequest(BatonError):
    """The request does not have the shape that the protocol requires."""

    code, status, retryable = "invalid_request", 422, False
    title = "The request is not valid"
    detail = "The request does not have the expected shape."


class MalformedJson(BatonError):
    """The body or frame is not a JSON object."""

    code, status, retryable = "malformed_json", 400, False
    title = "The request is not JSON"
    detail = "Send one JSON object, encoded as UTF-8."


class UnknownAction(BatonError):
    """A WebSocket frame names an action that does not exist."""

    code, status, retryable = "unknown_action", 400, False
    title = "Unknown action"
    detail = "This action does not exist."


class MessageTooLarge(BatonError):
    """A frame over 28 KB, or a body over 1 MiB."""

    code, status, retryable = "message_too_large", 413, False
    title = "The message is too large"
    detail = "Send at most 28 KB over WebSocket and 1 MiB over HTTP, or upload the content as a file."


class UnsupportedPart(BatonError):
    """A content part that Baton does not accept (audio, video, a foreign file handle)."""

    code, status, retryable = "unsupported_part", 422, False
    title = "Unsupported content part"
    detail = "Text, image and document parts are accepted; audio and video are not."


class InvalidSequence(BatonError):
    """A resume after a sequence number that the thread has not reached."""

    code, status, retryable = "invalid_sequence", 422, False
    title = "The sequence number is not valid"
    detail = "`after` lies beyond the last event of this conversation. Resume with after=0."


class NotFound(BatonError):
    """A path or object that does not exist, where saying so reveals nothing."""

    code, status, retryable = "not_found", 404, False
    title = "Not found"
    detail = "There is nothing at this address."


class MethodNotAllowed(BatonError):
    """The path exists, the method does not."""

    code, status, retryable = "method_not_allowed", 405, False
    title = "Method not allowed"
    detail = "This address does not take that method."


class RateLimited(BatonError):
    """More requests than are accepted: by API Gateway, by the limits of the tenant or the user, or by a model's check.

    A refused message is not stored: send it again, with the same id, after the time of Retry-After.
    """

    code, status, retryable = "rate_limited", 429, True
    title = "Too many requests"
    detail = "Please try again in a moment."

    retry_after: int

    def __init__(self, detail: str | None = None, *, retry_after: int = 1) -> None:
        """``retry_after``: the seconds after which the request may succeed."""
        super().__init__(detail)
        self.retry_after = retry_after


class CountsBusy(RateLimited):
    """No limit is reached, but others have changed the counts at each attempt. The same request may succeed at once."""
