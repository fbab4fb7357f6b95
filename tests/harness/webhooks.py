"""Webhooks of a harness: receivers, and the queue on the harness's clock."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from standardwebhooks import Webhook as Signing

from baton.api.notifications import Notifications
from baton.domain.errors import BatonError
from baton.domain.tenants.webhook import Webhook, WebhookEvent, WebhookSettings
from baton.domain.threads.thread_change import MAX_RECEIVES
from baton.failures.reports import NotYet
from tests.fakes.push import FakeWebhooks, Posted
from tests.harness.harness import Harness

SECRET = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
Json = dict[str, Any]


def webhook(webhook_id: str = "crm", *events: str, **fields: Any) -> Webhook:
    """A webhook that gets the named events, by default all."""
    defaults = {
        "id": webhook_id,
        "url": f"https://{webhook_id}.example/hook",
        "events": list(events or WebhookEvent),
        "secret": SECRET,
    }
    return Webhook.model_validate(defaults | fields)


def with_webhooks(harness: Harness, *webhooks: Webhook) -> Hooked:
    """Give the harness webhooks."""
    harness.webhook_settings = WebhookSettings(webhooks or (webhook(),))
    return Hooked(harness)


@dataclass
class Hooked:
    """The sender of a harness, and its receivers. Time passes only while it waits for what was postponed."""

    harness: Harness
    _postponed: dict[str, tuple[float, int]] = field(default_factory=dict)
    """Groups whose first record waits: until when, in seconds of the clock, and its deliveries."""
    failures: list[str] = field(default_factory=list)
    """The reasons of the failures of records."""

    @property
    def receivers(self) -> FakeWebhooks:
        return self.harness.webhook_receivers

    @property
    def waits(self) -> bool:
        """Whether the queue has a record."""
        return bool(self.harness.push_queue.sent)

    async def settle(self) -> list[Json]:
        """Carry out what is due, and return the bodies of what receivers have got since, in order."""
        queue, before = self.harness.push_queue, len(self.receivers.posted)
        sender = Notifications.of(self.harness.app)
        is_busy = True
        while is_busy:
            is_busy, blocked = False, set[str]()
            for record in list(queue.sent):
                until, receives = self._postponed.get(record.group, (0.0, 0))
                if record.group in blocked or self.harness.clock.now().timestamp() < until:
                    blocked.add(record.group)
                    continue
                assert receives < MAX_RECEIVES, "the queue would give the record up"
                try:
                    await sender.run(record.model_dump_json(by_alias=True, exclude_none=True), "handle", receives + 1)
                except (NotYet, BatonError) as failure:
                    seconds = queue.postponed[-1][1]
                    now = self.harness.clock.now().timestamp()
                    self._postponed[record.group] = (now + seconds, receives + 1)
                    self.failures.append(str(failure))
                    blocked.add(record.group)
                else:
                    queue.sent.remove(record)
                    self._postponed.pop(record.group, None)
                    is_busy = True
        return [json.loads(post.body) for post in self.receivers.posted[before:]]

    async def wait(self, hours: float) -> list[Json]:
        """Let time pass as the queue does, and return what receivers have got meanwhile."""
        end = self.harness.clock.now().timestamp() + hours * 3600
        got: list[Json] = []
        while True:
            got += await self.settle()
            now = self.harness.clock.now().timestamp()
            due = min((until for until, _ in self._postponed.values()), default=end)
            self.harness.clock.advance(max(0.0, min(due, end) - now))
            if due >= end:
                return got + await self.settle()


def verify_posted(posted: Posted, *secrets: str) -> Json:
    """The body of a request, signed with each of the secrets at the time of the harness's clock."""
    at = datetime.fromtimestamp(int(posted.headers["webhook-timestamp"]), UTC)
    signatures = [Signing(secret).sign(posted.headers["webhook-id"], at, posted.body.decode()) for secret in secrets]
    assert posted.headers["webhook-signature"].split(" ") == signatures
    body: Json = json.loads(posted.body)
    assert body["id"] == posted.headers["webhook-id"]
    return body
