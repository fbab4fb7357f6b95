"""Access over A2A, and the deployment's address."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from fastapi import Request


@dataclass(frozen=True, slots=True)
class A2AAccess:
    """Access to a deployment, as its cards describe it."""

    issuers: Callable[[], Sequence[str]] = tuple
    """Returns the OpenID Connect issuers that callers without a token may know of now."""
    is_open: bool = False
    """Whether calls without a token are accepted. Only in the local cloud."""
    public_url: str | None = None
    """The deployment's address where it is configured, without a slash at its end. Cards name no other then."""
    pushes: Callable[[], bool] = bool
    """Returns whether clients can be notified of their tasks now. By default they cannot."""
    has_stage: bool = False
    """Whether API Gateway serves the API below a separate path, which the application does not see."""


def base_url(request: Request, access: A2AAccess) -> str:
    """Return the deployment's address as the client knows it, without a slash at its end."""
    return _base(request, access)[0]


def trusted_base_url(request: Request, access: A2AAccess) -> str | None:
    """Return the address if the deployment vouches for it; None if it is what the request's ``Host`` says.

    API Gateway serves no other hosts than its own and the custom domains that lead to it.
    """
    url, is_trusted = _base(request, access)
    return url if is_trusted else None


def _base(request: Request, access: A2AAccess) -> tuple[str, bool]:
    if access.public_url is not None:
        return access.public_url, True
    context = _gateway_context(request) if access.has_stage else None
    if context is None:
        return str(request.base_url).rstrip("/"), False
    raw_path = request.scope.get("raw_path")
    path = raw_path.decode("latin-1") if raw_path is not None else quote(request.scope["path"])
    prefix = context["path"].removesuffix(path).rstrip("/")
    return f"https://{context['domainName']}{prefix}", True


def _gateway_context(request: Request) -> dict[str, str] | None:
    """Return API Gateway's context of the request: from Mangum's event, or from the Lambda Web Adapter's header."""
    event = request.scope.get("aws.event")
    try:
        context = event["requestContext"] if event else json.loads(request.headers["x-amzn-request-context"])
        names = ("path", "domainName")
        return {name: context[name] for name in names} if all(isinstance(context[n], str) for n in names) else None
    except (KeyError, TypeError, ValueError):
        return None
