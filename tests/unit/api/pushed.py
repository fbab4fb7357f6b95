"""Push notifications of A2A tasks, as their receivers get them."""

from __future__ import annotations

from baton.api.notifications import Notifications
from baton.domain.threads.push_config import PushNotice
from baton.domain.threads.thread_change import ThreadChange
from baton.failures.reports import NotYet
from baton_testing.fakes.agents.a2a import FakePushQueue
from tests.fakes.push import FakeWebhooks, Posted
from tests.unit.api.a2a_client import A2AServed


def queue_of(served: A2AServed) -> FakePushQueue:
    return served.harness.push_queue


def hooks_of(served: A2AServed) -> FakeWebhooks:
    return served.harness.webhooks


async def work_off(served: A2AServed, receives: int = 1) -> list[Posted]:
    """Run the queue, and return the sent notifications. It retains failed records and later ones of their groups."""
    await served.queue.wait_until_idle()
    sender, queue = Notifications.of(served.harness.app), queue_of(served)
    before, blocked = len(hooks_of(served).posted), set[str]()
    remaining: list[ThreadChange | PushNotice] = []
    while queue.sent:
        record = queue.sent.pop(0)
        if record.group in blocked:
            remaining.append(record)
            continue
        try:
            await sender.run(record.model_dump_json(by_alias=True, exclude_none=True), "handle", receives)
        except NotYet:
            blocked.add(record.group)
            remaining.append(record)
    queue.sent = remaining
    return hooks_of(served).posted[before:]
