"""Queue records that were sent before their user or thread was forgotten."""

from __future__ import annotations

from datetime import timedelta

import pytest

from baton.composition.app import build
from baton.domain.memory.forgetting import ForgetRequest, ForgetSubject
from baton.domain.tenants.identity import Scope
from baton.domain.threads.queued import RecordDelivery
from baton.threads.requests.parsing import parse_message_request
from baton.threads.requests.queue_mapping import make_queued_message
from baton_testing.fakes.tenants.forget_requests import FakeForgetRequests
from tests.harness.harness import Harness

ADA = Scope("acme", "ada")


class Late:
    """A worker, and a request to forget that was made at noon."""

    def __init__(self) -> None:
        self.harness = Harness()
        self.requests = FakeForgetRequests()
        self.app = build(self.harness.with_ports(forget_requests=self.requests))
        self.noon = self.harness.clock.now()

    async def forget(self, *, thread_id: str | None) -> None:
        subject = ForgetSubject.THREAD if thread_id else ForgetSubject.USER
        await self.requests.open(ADA, ForgetRequest("r1", "acme", subject, "ada", "ada", self.noon, thread_id))

    async def deliver(self, *, sent_minutes: float, now_minutes: float, dead: bool = False) -> bool:
        """Deliver a message, its times being relative to noon. Returns whether the conversation exists afterwards."""
        self.harness.clock.time = self.noon + timedelta(minutes=now_minutes)
        request = parse_message_request(ADA, thread_id=self.harness.thread_id, message_id="m1", content="Hello")
        body = make_queued_message(ADA, request, request_id="q1").model_dump_json(by_alias=True)
        sent_at = self.noon + timedelta(minutes=sent_minutes)
        if dead:
            await self.app.dead_turns.give_up(body, sent_at=sent_at)
        else:
            delivery = RecordDelivery("q1", 1)
            await self.app.queued_turns.run(body, "receipt", delivery, seconds=20, sent_at=sent_at)
        return ("acme", self.harness.thread_id) in self.harness.store.rows


@pytest.mark.parametrize("about_thread", [True, False])
@pytest.mark.parametrize("dead", [True, False])
async def test_a_record_that_is_older_than_the_cutoff_begins_no_conversation(about_thread: bool, dead: bool) -> None:
    late = Late()
    await late.forget(thread_id=late.harness.thread_id if about_thread else None)
    assert not await late.deliver(sent_minutes=-1, now_minutes=120, dead=dead)


async def test_a_record_that_was_sent_after_the_cutoff_is_answered() -> None:
    late = Late()
    await late.forget(thread_id=None)
    assert await late.deliver(sent_minutes=1, now_minutes=120)


async def test_a_record_of_a_user_nobody_forgot_is_answered_however_late() -> None:
    assert await Late().deliver(sent_minutes=-600, now_minutes=0)
