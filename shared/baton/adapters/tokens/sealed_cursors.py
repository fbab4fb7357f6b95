"""Cursors whose content clients cannot read or change.

A position in the table may be the key of another tenant's item.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping

from cryptography.fernet import Fernet, InvalidToken

from baton.adapters.cached_value import ParsedText
from baton.adapters.tokens.receiver_secrets import derive_cipher
from baton.domain.errors import InvalidRequest
from baton.domain.tenants.identity import Scope

PURPOSE = b"baton cursors of exports Fernet"


class SealedCursors:
    """``CursorSeal`` by Fernet. ``read_secret`` returns the secret from which the key is derived; it may block."""

    def __init__(self, read_secret: Callable[[], str]) -> None:
        self._read_secret = read_secret
        self._ciphers = ParsedText(lambda secret: derive_cipher(secret, PURPOSE))

    async def seal(self, scope: Scope, cursor: Mapping[str, object]) -> str:
        text = json.dumps({"tenant": scope.tenant_id, **cursor}).encode()
        cipher = await asyncio.to_thread(self._read_cipher)
        return cipher.encrypt(text).decode()

    async def open(self, scope: Scope, sealed: str) -> Mapping[str, object]:
        cipher = await asyncio.to_thread(self._read_cipher)
        try:
            cursor: dict[str, object] = json.loads(cipher.decrypt(sealed.encode()))
        except (InvalidToken, ValueError):
            cursor = {}
        if cursor.pop("tenant", None) != scope.tenant_id:
            raise InvalidRequest("cursor was not handed out by this export.")
        return cursor

    def _read_cipher(self) -> Fernet:
        return self._ciphers.parse(self._read_secret())
