"""Secrets of hooks and webhooks that cannot be read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from baton.adapters.tokens.hook_signatures import SignatureVerifier
from baton.adapters.tokens.webhook_signatures import StandardWebhookSigner
from baton.domain.errors import InternalError, NotFound
from baton.domain.tenants.inbound_hook import InboundHook
from baton.domain.tenants.webhook import Webhook

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def read(name: str) -> Any:
    raise NotFound("The secret has no value.")


async def test_the_error_is_one_sentence() -> None:
    fields = {"id": "shop", "tenant": "acme", "type": "/kind", "user": "/user", "thread": "/thread"}
    hook = InboundHook.model_validate(fields | {"secret": "baton/dev/hooks/shop"}, by_alias=True)
    arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:crm-AbCdEf"
    receiver = {"id": "crm", "url": "https://crm.example.com", "events": ["message.created"], "secretArn": arn}
    webhook = Webhook.model_validate(receiver | {"tenants": ["acme"]}, by_alias=True)
    with pytest.raises(InternalError) as of_hook:
        await SignatureVerifier(read).verify(hook, {}, b"", NOW)
    with pytest.raises(InternalError) as of_webhook:
        await StandardWebhookSigner(read).sign(webhook, "event", NOW, b"{}")
    for error in (of_hook, of_webhook):
        assert error.value.detail.endswith("cannot be used: The secret has no value.")
