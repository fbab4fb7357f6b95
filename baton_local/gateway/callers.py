"""Callers of this machine's APIs, for fair shares. They are read from tokens before these are verified."""

from __future__ import annotations

import base64
import contextlib
import json
from dataclasses import dataclass
from typing import Any

from baton_local.serving.asgi import Scope

UNREADABLE = (ValueError, RecursionError)
"""The errors of a text that is no JSON, or whose nesting is too deep."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A user of a tenant, or the address of a client without a readable token."""

    tenant: str
    user: str = ""


def read_caller(scope: Scope) -> Caller:
    """Return the user that a request's token names, unverified, or the client's address if there is no such token.

    A forged token gets only the share of the tenant that it names, and the product refuses it soon after.
    """
    headers = {name.lower(): value for name, value in scope.get("headers", [])}
    token = headers.get(b"authorization", b"").rpartition(b" ")[2]
    token = token or headers.get(b"sec-websocket-protocol", b"").rpartition(b",")[2].strip()
    parts = token.split(b".")
    if len(parts) == 3:
        with contextlib.suppress(*UNREADABLE):
            claims: Any = json.loads(base64.urlsafe_b64decode(parts[1] + b"=" * (-len(parts[1]) % 4)))
            if isinstance(claims, dict) and isinstance(claims.get("tenant"), str):
                return _make_caller(claims["tenant"], claims.get("sub"))
    client = scope.get("client")
    return Caller(f"client {client[0] if client else ''}")


def read_sender(body: str) -> Caller | None:
    """Return the user who has sent a queue's message with this body; None if it names none."""
    with contextlib.suppress(*UNREADABLE):
        record: Any = json.loads(body)
        if isinstance(record, dict) and isinstance(record.get("tenantId"), str):
            return _make_caller(record["tenantId"], record.get("userId"))
    return None


def _make_caller(tenant: str, user: object) -> Caller:
    return Caller(f"tenant {tenant}", user if isinstance(user, str) else "")
