"""Errors of refused requests: no valid sign-in or permission, over a limit, or not of the required shape."""

from __future__ import annotations

from baton.domain.errors.base import BatonError


class Unauthorized(BatonError, code="unauthorized", status=401, title="Not signed in"):
    """No token, or an invalid one."""

    detail = "Send a valid bearer token."


class TokenExpired(Unauthorized, code="token_expired", title="The token has expired"):
    """A valid token that has expired."""

    detail = "Get a new token and connect again."


class Forbidden(BatonError, code="forbidden", status=403, title="Not permitted"):
    """A permission is missing."""

    detail = "You do not have the permission this needs."


class TenantRemoved(BatonError, code="tenant_removed", status=410, title="The organisation has been removed"):
    """The tenant's removal has been confirmed. Its id is never used again."""

    detail = "Your organisation's data are being removed, or have been. Nothing can be done in its name any more."


class RemovalNotPlanned(BatonError, code="removal_not_planned", status=409, title="There is no plan to confirm"):
    """The confirmation of a removal whose plan is missing, incomplete, too old, or not the one that was read."""

    detail = "Make a plan of the removal, wait until it is complete, and confirm that plan within a day."


class OriginRefused(BatonError, code="origin_refused", status=403, title="Web page not permitted"):
    """A web page of an origin that is not allowed has sent the request. The check guards MCP against DNS rebinding."""

    detail = (
        "Pages of this origin may not call this address. The operator allows origins in allowedOrigins of the settings."
    )


class LimitReached(BatonError, code="limit_reached", status=409, title="A limit is reached"):
    """One of the tenant's limits is reached."""

    detail = "A limit of your organisation is reached. Its administrators can raise it."


class LimitsChanged(BatonError, code="limits_changed", status=412, title="The limits have changed"):
    """Somebody else has changed the tenant's limits since the caller read them."""

    detail = "The limits have changed since you read them: read them again and repeat your change."


class InvalidRequest(BatonError, code="invalid_request", status=422, title="The request is not valid"):
    """The request does not have the shape that the protocol requires."""

    detail = "The request does not have the expected shape."


class MalformedJson(BatonError, code="malformed_json", status=400, title="The request is not JSON"):
    """The body or frame is not a JSON object."""

    detail = "Send one JSON object, encoded as UTF-8."


class UnknownAction(BatonError, code="unknown_action", status=400, title="Unknown action"):
    """A WebSocket frame names an action that does not exist."""

    detail = "This action does not exist."


class MessageTooLarge(BatonError, code="message_too_large", status=413, title="The message is too large"):
    """A frame over 28 KB, or a body over 1 MiB."""

    detail = "Send at most 28 KB over WebSocket and 1 MiB over HTTP, or upload the content as a file."


class UnsupportedPart(BatonError, code="unsupported_part", status=422, title="Unsupported content part"):
    """A content part that Baton does not accept (audio, video, a foreign file handle)."""

    detail = "Text, image and document parts are accepted; audio and video are not."


class InvalidSequence(BatonError, code="invalid_sequence", status=422, title="The sequence number is not valid"):
    """A resume after a sequence number that the thread has not reached."""

    detail = "`after` lies beyond the last event of this conversation. Resume with after=0."


class NotFound(BatonError, code="not_found", status=404, title="Not found"):
    """A path or object that does not exist, where saying so reveals nothing."""

    detail = "There is nothing at this address."


class MethodNotAllowed(BatonError, code="method_not_allowed", status=405, title="Method not allowed"):
    """The path exists, the method does not."""

    detail = "This address does not take that method."


class RateLimited(BatonError, code="rate_limited", status=429, title="Too many requests", retryable=True):
    """More requests than are accepted: by API Gateway, by the limits of the tenant or the user, or by a model's check.

    A refused message is not stored: send it again, with the same id, after the time of Retry-After.
    """

    detail = "Please try again in a moment."

    retry_after: int

    def __init__(self, detail: str | None = None, *, retry_after: int = 1) -> None:
        """``retry_after``: the seconds after which the request may succeed."""
        super().__init__(detail)
        self.retry_after = retry_after


class CountsBusy(RateLimited):
    """No limit is reached, but others have changed the counts at each attempt. The same request may succeed at once."""
