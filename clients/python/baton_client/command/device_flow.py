"""Signing in without a browser on this machine: OAuth 2.0 device authorization grant (RFC 8628)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from baton_client.command.configuration import LOOPBACK
from baton_client.command.exits import CommandError, ExitCode
from baton_client.command.token_store import StoredTokens

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
DEFAULT_POLL_SECONDS = 5
DEFAULT_CODE_SECONDS = 600
"""The lifetime of a code whose issuer names none, which it must (RFC 8628, section 3.2)."""
DEFAULT_TOKEN_SECONDS = 3600
"""The lifetime of a token whose issuer names none."""
SLOW_DOWN_SECONDS = 5
"""The seconds by which ``slow_down`` lengthens the interval (RFC 8628, section 3.5)."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The endpoints of an issuer, from its metadata."""

    device: str
    token: str


async def find_issuer(http: httpx.AsyncClient, url: str) -> str:
    """Return the issuer of tokens for the server at ``url`` (RFC 9728). Raises ``CommandError`` if it names none."""
    try:
        metadata = await _read_json(await http.get(f"{url}/.well-known/oauth-protected-resource"))
    except CommandError:
        metadata = {}
    servers = metadata.get("authorization_servers")
    if not isinstance(servers, list) or not servers or not isinstance(servers[0], str):
        raise CommandError(
            f"{url} does not say who issues its tokens. Name the issuer by `baton login --issuer ADDRESS`; for a local "
            "cloud run `baton login --local`.",
            ExitCode.USAGE,
        )
    return servers[0]


async def find_endpoints(http: httpx.AsyncClient, issuer: str) -> Endpoints:
    """Return the issuer's addresses, by OpenID Connect Discovery. Raises ``CommandError`` without the device flow."""
    _check_secure(issuer)
    configuration = await _read_json(await http.get(f"{issuer.rstrip('/')}/.well-known/openid-configuration"))
    device, token = configuration.get("device_authorization_endpoint"), configuration.get("token_endpoint")
    if not isinstance(device, str) or not isinstance(token, str):
        raise CommandError(
            f"{issuer} does not offer the device flow. Get a token there in another way, and set BATON_TOKEN.",
            ExitCode.USAGE,
        )
    _check_secure(device)
    _check_secure(token)
    return Endpoints(device, token)


async def sign_in(
    http: httpx.AsyncClient, addresses: Endpoints, *, client_id: str, scopes: str, show: Callable[[str, str], None]
) -> StoredTokens:
    """Call ``show`` with an address and a code, and return tokens once the user has entered the code there and agreed.

    Raises ``CommandError`` if the user refuses or takes too long, or if the issuer answers with another error.
    """
    authorization = await _read_json(await http.post(addresses.device, data={"client_id": client_id, "scope": scopes}))
    code = authorization.get("device_code")
    if not isinstance(code, str):
        raise CommandError(f"The issuer gave no device code: {authorization.get('error', 'unknown answer')}.")
    show(
        str(authorization.get("verification_uri_complete") or authorization.get("verification_uri")),
        str(authorization.get("user_code")),
    )
    interval = _read_seconds(authorization.get("interval"), DEFAULT_POLL_SECONDS)
    deadline = time.monotonic() + _read_seconds(authorization.get("expires_in"), DEFAULT_CODE_SECONDS)
    while time.monotonic() < deadline:
        await asyncio.sleep(interval)
        answer = await _read_json(
            await http.post(addresses.token, data={"grant_type": GRANT, "device_code": code, "client_id": client_id})
        )
        match answer.get("error"):
            case None:
                return _make_tokens(answer, addresses.token, client_id, None)
            case "authorization_pending":
                continue
            case "slow_down":
                interval += SLOW_DOWN_SECONDS
            case "access_denied":
                raise CommandError("The sign-in was refused.", ExitCode.FORBIDDEN)
            case "expired_token":
                break
            case error:
                raise CommandError(f"The issuer refused: {error} {answer.get('error_description', '')}")
    raise CommandError("The code was not entered in time. Run `baton login` again.", ExitCode.FORBIDDEN)


async def renew_tokens(http: httpx.AsyncClient, old: StoredTokens) -> StoredTokens:
    """Return new tokens for a refresh token. Raises ``CommandError`` if the issuer refuses, whatever its reason."""
    expired = CommandError("Your sign-in has expired. Run `baton login`.", ExitCode.FORBIDDEN)
    if not old.refresh_token or not old.token_endpoint or not old.client_id:
        raise expired
    _check_secure(old.token_endpoint)
    data = {"grant_type": "refresh_token", "refresh_token": old.refresh_token, "client_id": old.client_id}
    answer = await _read_json(await http.post(old.token_endpoint, data=data))
    match answer.get("error"):
        case None:
            pass
        case "invalid_grant":
            raise expired
        case error:
            raise CommandError(f"The issuer refused to renew the token: {error} {answer.get('error_description', '')}")
    return _make_tokens(answer, old.token_endpoint, old.client_id, old.refresh_token)


def _make_tokens(answer: dict[str, Any], endpoint: str, client_id: str, refresh_token: str | None) -> StoredTokens:
    token = answer.get("access_token")
    if not isinstance(token, str):
        raise CommandError("The issuer answered without a token.")
    lifetime = _read_seconds(answer.get("expires_in"), DEFAULT_TOKEN_SECONDS)
    return StoredTokens(
        token, time.time() + lifetime, answer.get("refresh_token") or refresh_token, endpoint, client_id
    )


def _read_seconds(value: Any, default: float) -> float:
    return float(value) if isinstance(value, int | float) and value >= 0 else default


async def _read_json(response: httpx.Response) -> dict[str, Any]:
    try:
        content = response.json()
    except ValueError:
        content = None
    # RFC 6749 answers errors of these requests with 400 and a body.
    if not isinstance(content, dict) or (response.status_code >= 400 and "error" not in content):
        raise CommandError(f"{response.url} answered {response.status_code}, which is no answer of an OIDC issuer.")
    return content


def _check_secure(address: str) -> None:
    url = httpx.URL(address)
    if url.scheme != "https" and url.host not in LOOPBACK:
        raise CommandError(f"{address} is not https: tokens would be readable on the way.", ExitCode.USAGE)
