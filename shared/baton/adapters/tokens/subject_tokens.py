"""Users' tokens, sealed between the request that contains them and the call that acts for the user.

A turn may run in another function than the one that received the token, and waits in a queue before. Its record has the
token as ciphertext (Fernet: AES-128-CBC and HMAC-SHA256) with its user and end, which is opened for the exchange.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from datetime import datetime

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from baton.adapters.cached_value import ParsedText
from baton.domain.errors import BatonError, InternalError, TokenExpired, Unauthorized
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.secret import USER_IS_UNPROVEN
from baton.ports.clock import Clock, SystemClock, read_machine_time

_log = logging.getLogger(__name__)


class SubjectTokens:
    """A cipher for users' tokens.

    ``read_keys`` returns Fernet keys, separated by white space or commas. It may block. The first key seals and all
    keys open, so that keys can be replaced.
    """

    def __init__(self, read_keys: Callable[[], str], clock: Clock | None = None) -> None:
        self._read_keys = read_keys
        self._clock = clock or SystemClock()
        self._keys = ParsedText(parse_delegation_keys)

    def seal(self, scope: Scope, token: str, expires_at: datetime) -> str | None:
        """Return the sealed token of the scope's user; None if there are no keys that can be read.

        Blocks as ``read_keys`` does.
        """
        claims = {"tenant": scope.tenant_id, "user": scope.user_id, "until": expires_at.timestamp(), "token": token}
        try:
            return self._read_cipher().encrypt(json.dumps(claims).encode()).decode()
        except BatonError as error:
            # The request continues: only calls that act for the user fail.
            _log.error("Users' tokens cannot be passed on: %s", error)
            count(Metric.KEYS_UNREADABLE)
            return None

    def open(self, scope: Scope) -> tuple[str, float]:
        """Return the token that came with the user's request, and the seconds until its end.

        Blocks as ``read_keys`` does. Raises ``Unauthorized`` if there is no token or it belongs to another user,
        ``TokenExpired``, and the errors of ``read_keys``.
        """
        if scope.subject_token is None:
            raise Unauthorized(USER_IS_UNPROVEN)
        try:
            claims = json.loads(self._read_cipher().decrypt(scope.subject_token.encode()))
        except InvalidToken:
            raise Unauthorized(USER_IS_UNPROVEN) from None
        if (claims["tenant"], claims["user"]) != (scope.tenant_id, scope.user_id):
            raise Unauthorized(USER_IS_UNPROVEN)
        seconds = claims["until"] - read_machine_time(self._clock).timestamp()
        if seconds <= 0:
            raise TokenExpired
        return claims["token"], seconds

    def _read_cipher(self) -> MultiFernet:
        return self._keys.parse(self._read_keys())


def parse_delegation_keys(text: str) -> MultiFernet:
    """Return the cipher with the keys in ``text``. Raises ``InternalError``, whose message does not quote the text."""
    keys = [part for part in re.split(r"[\s,]+", text) if part]
    try:
        return MultiFernet([Fernet(key) for key in keys])
    except (ValueError, TypeError):
        raise InternalError("The keys that seal users' tokens are not Fernet keys.") from None
