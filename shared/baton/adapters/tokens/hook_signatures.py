"""Signatures of requests to hooks: by Standard Webhooks with its own library, or as one HMAC-SHA256."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from standardwebhooks import Webhook as Signing

from baton.domain.errors import InternalError, NotFound, Unauthorized
from baton.domain.tenants.identity import MAX_MESSAGE_ID, is_printable
from baton.domain.tenants.inbound_hook import HookCheck, InboundHook
from baton.domain.tenants.webhook import parse_signing_keys

TOLERANCE_SECONDS = 300
"""The maximum seconds between the time of a request and now, as Standard Webhooks recommends."""
MAX_SIGNATURES = 20
"""The number of a request's signatures that are checked."""
REFUSED = "The request is not signed as this hook requires, or was not signed just now."


@dataclass(frozen=True, slots=True)
class SignatureVerifier:
    """``HookVerifier`` with secrets from Secrets Manager."""

    read_secret: Callable[[str], str]
    """Returns the text of the secret with a name. It may block."""

    async def verify(
        self, hook: InboundHook | None, headers: Mapping[str, Sequence[str]], body: bytes, now: datetime
    ) -> str:
        if hook is None:
            _compute_digests(("absent",), body)  # in about the time in which an existing hook is refused
            raise Unauthorized(REFUSED)
        keys = await self._read_keys(hook)
        event_id = (
            _verify_standard(keys, headers, body, now)
            if hook.verify is HookCheck.STANDARD
            else _verify_hmac(keys, hook, headers, body)
        )
        if event_id is None:
            raise Unauthorized(REFUSED)
        return event_id

    async def _read_keys(self, hook: InboundHook) -> tuple[str, ...]:
        """Return the keys in the hook's secret. Raises as ``HookVerifier.verify`` does for an unusable secret."""
        try:
            text = await asyncio.to_thread(self.read_secret, hook.secret)
            keys = parse_signing_keys(text) if hook.verify is HookCheck.STANDARD else tuple(text.split())
            if not keys:
                raise ValueError("it is empty")
        except (NotFound, ValueError) as error:
            reason = str(error).rstrip(".")
            raise InternalError(f"The secret of the hook {hook.id} cannot be used: {reason}.") from None
        return keys


def _verify_standard(
    keys: Sequence[str], headers: Mapping[str, Sequence[str]], body: bytes, now: datetime
) -> str | None:
    """Return the event's id; None unless one of ``keys`` has signed the request by Standard Webhooks.

    An id that is too long or cannot be printed is replaced by its digest.
    """
    event_id, timestamp = _get_single_value(headers, "webhook-id"), _get_single_value(headers, "webhook-timestamp")
    signatures = (_get_single_value(headers, "webhook-signature") or "").split(" ")[:MAX_SIGNATURES]
    if not event_id or not timestamp or re.fullmatch("[0-9]{1,12}", timestamp) is None:
        return None
    if abs(int(timestamp) - now.timestamp()) > TOLERANCE_SECONDS:
        return None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    signed_at = datetime.fromtimestamp(int(timestamp), UTC)
    expected = [Signing(key).sign(event_id, signed_at, text) for key in keys]
    if not _any_equal(signatures, expected):
        return None
    if is_printable(event_id, MAX_MESSAGE_ID):
        return event_id
    return hashlib.sha256(event_id.encode()).hexdigest()


def _verify_hmac(
    keys: Sequence[str], hook: InboundHook, headers: Mapping[str, Sequence[str]], body: bytes
) -> str | None:
    """Return the event's id, a digest of the body; None unless the hook's header has an HMAC by one of ``keys``.

    The id is not taken from another header, because only the body is signed.
    """
    value = _get_single_value(headers, (hook.header or "").lower())
    digests = _compute_digests(keys, body)
    if value is None or not value.startswith(hook.prefix):
        return None
    signature = value.removeprefix(hook.prefix)
    if hook.encoding == "hex":
        signature, expected = signature.lower(), [digest.hex() for digest in digests]
    else:
        expected = [base64.b64encode(digest).decode() for digest in digests]
    return hashlib.sha256(body).hexdigest() if _any_equal([signature], expected) else None


def _compute_digests(keys: Sequence[str], body: bytes) -> list[bytes]:
    """Return the HMAC-SHA256 of the body by each key."""
    return [hmac.new(key.encode(), body, hashlib.sha256).digest() for key in keys]


def _get_single_value(headers: Mapping[str, Sequence[str]], name: str) -> str | None:
    """Return a header's value; None if it is missing or repeated."""
    values = headers.get(name, ())
    return values[0] if len(values) == 1 else None


def _any_equal(signatures: Sequence[str], expected: Sequence[str]) -> bool:
    """Return whether any signature is expected. All pairs are compared, in a time that does not depend on them."""
    results = [
        hmac.compare_digest(signature.encode(), candidate.encode())
        for signature in signatures
        for candidate in expected
    ]
    return any(results)
