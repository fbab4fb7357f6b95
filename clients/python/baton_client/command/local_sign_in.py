"""Signing in at a local cloud, which signs a token for anybody on its machine."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from typing import Any

import httpx

from baton_client.command.exits import CommandError, ExitCode
from baton_client.command.token_store import StoredTokens

DEFAULT_LIFETIME_SECONDS = 3600.0
"""The lifetime of a token that does not say when it expires."""


async def get_local_tokens(http: httpx.AsyncClient, url: str, who: Mapping[str, Any]) -> StoredTokens:
    """Return a token of the local cloud at ``url`` for ``who``: tenant, user, permissions and claims about the user.

    Raises ``CommandError`` if the server is not a local cloud, or refuses.
    """
    answer = await http.post(f"{url}/local/token", json=dict(who))
    if answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY:
        raise CommandError(f"{url} signs no such token: {_read_detail(answer)}", ExitCode.USAGE)
    if answer.status_code != httpx.codes.OK:
        raise CommandError(f"{url} is no local cloud. Sign in without --local.", ExitCode.USAGE)
    token = str(answer.json()["token"])
    return StoredTokens(token, _read_expiry(token), local=dict(who))


async def renew_local_tokens(http: httpx.AsyncClient, url: str, old: StoredTokens) -> StoredTokens:
    """Return another token for the same user: the old one has expired, or is of another local cloud.

    Raises ``CommandError``.
    """
    try:
        return await get_local_tokens(http, url, old.local or {})
    except CommandError as problem:
        raise CommandError(
            f"The local sign-in cannot be renewed: {problem} For a local cloud run `baton login --local`.",
            ExitCode.FORBIDDEN,
        ) from problem


def _read_expiry(token: str) -> float:
    """Return the time at which a JWT expires, in seconds since 1970; in an hour if it does not say.

    The server, not this function, checks the token.
    """
    try:
        payload = token.split(".")[1]
        return float(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["exp"])
    except (IndexError, ValueError, KeyError, TypeError):
        return time.time() + DEFAULT_LIFETIME_SECONDS


def _read_detail(answer: httpx.Response) -> str:
    try:
        return str(answer.json().get("detail", ""))
    except (ValueError, AttributeError):
        return ""
