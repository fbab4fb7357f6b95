"""Signatures of outgoing webhooks by Standard Webhooks (https://www.standardwebhooks.com), with its own library."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from standardwebhooks import Webhook as Signing

from baton.domain.errors import InternalError, NotFound
from baton.domain.tenants.webhook import Webhook, parse_signing_keys


@dataclass(frozen=True, slots=True)
class StandardWebhookSigner:
    """``WebhookSigner`` with secrets from Secrets Manager; in the local cloud also from the settings."""

    read_secret: Callable[[str], str]
    """Returns the text of the secret with a name or ARN. It may block."""
    is_local: bool = False
    """Whether this is the local cloud."""

    async def sign(self, webhook: Webhook, event_id: str, at: datetime, body: bytes) -> Mapping[str, str]:
        text = body.decode()
        keys = await self._read_keys(webhook)
        return {
            "webhook-id": event_id,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": " ".join(Signing(key).sign(event_id, at, text) for key in keys),
        }

    async def _read_keys(self, webhook: Webhook) -> tuple[str, ...]:
        """Return the keys in the webhook's secret. Raises ``InternalError``."""
        if webhook.secret is not None and self.is_local:
            return parse_signing_keys(webhook.secret)
        if webhook.secret_arn is None:
            raise InternalError(f"The webhook {webhook.id} has no secretArn: name a secret of Secrets Manager there.")
        try:
            return parse_signing_keys(await asyncio.to_thread(self.read_secret, webhook.secret_arn))
        except (NotFound, ValueError) as error:
            reason = str(error).rstrip(".")
            raise InternalError(f"The secret of the webhook {webhook.id} cannot be used: {reason}.") from None
