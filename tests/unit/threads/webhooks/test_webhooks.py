"""Outgoing webhooks: the events that receivers get, in which order, how often, and what becomes of those not taken."""

from __future__ import annotations

import itertools
import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from baton.api.notifications import Notifications
from baton.domain.errors import ModelUnavailable, StoreUnavailable
from baton.domain.metrics import Metric, collect_counts
from baton.domain.runs.tool_call import ToolCall
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.webhook import ATTEMPT_AGES
from baton.domain.threads.thread_change import MAX_RECEIVES
from baton.domain.times import to_iso
from baton.ports.agents.a2a import WebhookRefused, WebhookUnreachable
from baton.ports.clock import read_machine_time
from baton.ports.threads.leases import Commit, CommittedThread, Lease
from baton.threads.webhooks.thread_events import MAX_TEXT
from tests.fakes.chat_model import Answer
from tests.harness.desk import Desk
from tests.harness.desks import ANNA, DeskHarness, desk
from tests.harness.failing_store import fail_once
from tests.harness.handoffs import advance
from tests.harness.harness import Harness
from tests.harness.local_clock import run_ahead
from tests.harness.sessions import close
from tests.harness.webhooks import SECRET, Hooked, verify_posted, webhook, with_webhooks
from tests.harness.wiki import answer, run_until_interrupt, wiki, yes
from tests.unit.api.served import Served

OTHER_SECRET = "whsec_" + "C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
DAY = 24.0
DELIVERIES = "/webhooks/deliveries"
MANAGER = "tenant:manage"


@pytest.fixture
def harness() -> Harness:
    return Harness()


def types(bodies: list[dict[str, Any]]) -> list[str]:
    return [body["type"] for body in bodies]


def texts(bodies: list[dict[str, Any]]) -> list[str]:
    return [body["data"]["message"]["content"] for body in bodies]


async def dead_of(harness: Harness, scope: Scope | None = None) -> list[dict[str, Any]]:
    """The dead deliveries that a manager of the tenant sees."""
    items, _ = await Served(harness).items(DELIVERIES, MANAGER, status="dead")
    return items


# Events


async def test_the_messages_of_a_run_are_sent_in_their_order_and_signed(harness: Harness) -> None:
    hooked = with_webhooks(harness)
    await harness.say("m1", "Hello")
    question, reply = await hooked.settle()
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    stored = await harness.store.run_messages(harness.ada, thread.id, first_ordinal=0, below=None)
    assert question == {
        "id": question["id"],
        "type": "message.created",
        "timestamp": to_iso(stored[0].timestamp),
        "tenantId": "acme",
        "data": {
            "threadId": harness.thread_id,
            "userId": "ada",
            "runId": stored[0].run_id,
            "message": stored[0].as_ag_ui().model_dump(by_alias=True, mode="json", exclude_none=True),
            "isCut": False,
        },
    }
    assert texts([question, reply]) == ["Hello", "Hello there."]
    assert [verify_posted(posted, SECRET)["id"] for posted in hooked.receivers.posted] == [question["id"], reply["id"]]
    assert {posted.headers["Content-Type"] for posted in hooked.receivers.posted} == {"application/json"}


async def test_a_very_long_message_is_sent_in_part_and_says_so(harness: Harness) -> None:
    hooked = with_webhooks(harness)
    await harness.say("m1", "x" * (MAX_TEXT + 1))
    question, _ = await hooked.settle()
    assert (len(question["data"]["message"]["content"]), question["data"]["isCut"]) == (MAX_TEXT, True)


async def test_a_run_that_waits_for_approval_and_the_one_that_continues_it() -> None:
    harness = wiki()
    hooked = with_webhooks(harness)
    [interrupt] = await run_until_interrupt(harness)
    bodies = await hooked.settle()
    assert types(bodies) == ["message.created", "message.created", "approval.requested"]
    assert bodies[-1]["data"]["interrupts"][0]["id"] == interrupt["id"]
    await answer(harness, yes(interrupt))
    assert types(await hooked.settle()) == ["message.created"]


async def test_a_failed_run_says_why(harness: Harness) -> None:
    hooked = with_webhooks(harness)
    harness.model.script(ModelUnavailable())
    run = await harness.say()
    created, failed = await hooked.settle()
    assert types([created, failed]) == ["message.created", "run.failed"]
    data = failed["data"]
    assert (data["messageId"], data["code"], data["message"]) == ("m1", "model_unavailable", run.last["message"])


async def test_a_completed_workflow_has_its_data() -> None:
    desk = Desk()
    hooked = with_webhooks(desk.harness, webhook("crm", "workflow.completed"))
    await desk.reach_the_end(advance("DONE"), "It is number 1.")
    [completed] = await hooked.settle()
    workflow = completed["data"]["workflow"]
    assert (workflow["agentId"], workflow["state"], workflow["data"], workflow["result"]) == (
        "maker",
        "DONE",
        {"ASK": {"name": "Box"}},
        "Number 1.",
    )


async def test_the_end_of_a_session_by_a_person_has_the_person() -> None:
    harness = DeskHarness()
    hooked = with_webhooks(harness, webhook("crm", "desk.returned", "thread.closed"))
    await harness.ask()
    await harness.take()
    await harness.controls.close(harness.ada, harness.thread_id, request_id="r", closed_by=ANNA)
    await harness.run_queue()
    ends = [(body["type"], body["data"]["reason"], body["data"]["person"]["id"]) for body in await hooked.settle()]
    assert ends == [("desk.returned", "closed", "anna"), ("thread.closed", "PersonClosed", "anna")]


@pytest.mark.parametrize("who", ["user", "agent"])
async def test_the_end_of_a_session_is_an_event(harness: Harness, who: str) -> None:
    hooked = with_webhooks(harness, webhook("crm", "thread.closed"))
    if who == "agent":
        goodbye = ToolCall("call-1", "end_conversation", '{"reason": "The user said goodbye."}')
        harness.model.script(Answer.calling(goodbye, text="Goodbye."))
        await harness.say()
        episode_id, reason = None, "AgentClosed"
    else:
        await harness.say()
        episode_id, reason = await close(harness), "UserClosed"
    [closed] = await hooked.settle()
    assert closed["data"]["reason"] == reason
    assert episode_id in (None, closed["data"]["episodeId"])


async def test_a_desk_that_waits_is_taken_answers_and_hands_on() -> None:
    """Notes of its people are for nobody else."""
    harness = DeskHarness()
    hooked = with_webhooks(harness)
    await harness.ask()
    waiting = await hooked.settle()
    assert types(waiting) == ["message.created", "message.created", "desk.waiting"]
    assert waiting[-1]["data"]["deskId"] == "support"
    await harness.say("m2", "Are you there?")
    assert types(await hooked.settle()) == ["message.created"]
    await harness.take()
    _, taken = await hooked.settle()
    assert (taken["type"], taken["data"]["deskId"]) == ("desk.taken", "support")
    assert taken["data"]["person"] == {"kind": "person", "id": "anna", "name": "Anna"}
    await harness.note("Rather difficult.")
    assert await hooked.settle() == []
    await harness.reply("I am here.")
    [reply] = await hooked.settle()
    message = reply["data"]["message"]
    assert (message["role"], message["name"], message["content"]) == ("assistant", "Anna", "I am here.")
    assert message["metadata"]["author"]["id"] == "anna"
    await harness.hand_on("billing")
    assert [(body["type"], body["data"]["deskId"]) for body in await hooked.settle() if "desk" in body["type"]] == [
        ("desk.waiting", "billing")
    ]


HOURS = {"zone": "UTC", "week": {"mon-fri": "09:00-12:05"}}


async def _hand_back(harness: DeskHarness) -> None:
    await harness.take()
    await harness.hand_back("Be kind.")


async def _leave(harness: DeskHarness) -> None:
    await harness.say("m2", "cancel")


async def _exit(harness: DeskHarness) -> None:
    await harness.act(await harness.controls.request_exit(harness.ada, harness.thread_id, request_id="r"))


async def _wait(harness: DeskHarness) -> None:
    harness.clock.advance(11 * 60)
    await harness.sweep()


async def _be_silent(harness: DeskHarness) -> None:
    await harness.take()
    await harness.say("m2", "Are you there?")
    harness.clock.advance(31 * 60)
    await harness.sweep()


async def _close(harness: DeskHarness) -> None:
    await close(harness)


async def _lose(harness: DeskHarness) -> None:
    del harness.shipped_agents.definitions["support"]
    await harness.say("m2", "Are you there?")


@pytest.mark.parametrize(
    ("return_", "reason"),
    [
        (_hand_back, "person"),
        (_leave, "user"),
        (_exit, "user"),
        (_wait, "nobody"),
        (_be_silent, "silence"),
        (_close, "closed"),
        (_lose, "unavailable"),
    ],
)
async def test_each_way_back_from_a_desk_is_an_event_with_its_reason_audited_and_counted(
    return_: Callable[[DeskHarness], Awaitable[None]], reason: str
) -> None:
    harness = DeskHarness()
    hooked = with_webhooks(harness, webhook("crm", "desk.returned"))
    await harness.ask()
    counted: dict[Metric, int | Sequence[int]] = {}
    with collect_counts(counted.update):
        await return_(harness)
    [returned] = await hooked.settle()
    assert (returned["data"]["deskId"], returned["data"]["reason"]) == ("support", reason)
    assert ("runId" in returned["data"]) is (reason != "closed")
    details = [record.detail for record in harness.audit.records if record.action == "desk.return"]
    assert [(detail["deskId"], detail["reason"]) for detail in details] == [("support", reason)]
    metric = Metric.DESKS_LEFT if reason in ("person", "user", "closed") else Metric.DESKS_MISSED
    assert [(name, number) for name, number in counted.items() if name.startswith("Desks")] == [(metric, 1)]


async def test_the_end_of_the_hours_is_the_reason_of_a_return() -> None:
    harness = DeskHarness(support=desk(triggers=["talk to a human"], desk={"hours": HOURS}))
    hooked = with_webhooks(harness, webhook("crm", "desk.returned"))
    await harness.ask()
    harness.clock.advance(6 * 60)
    await harness.sweep()
    assert [body["data"]["reason"] for body in await hooked.settle()] == ["hours"]


async def test_a_conversation_that_is_closed_at_a_desk_returns_before_its_session_ends() -> None:
    harness = DeskHarness()
    hooked = with_webhooks(harness, webhook("crm", "desk.returned", "thread.closed"))
    await harness.ask()
    await close(harness)
    assert types(await hooked.settle()) == ["desk.returned", "thread.closed"]


async def test_a_closing_that_died_is_an_event_only_after_what_happened_before_its_repetition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = DeskHarness()
    hooked = with_webhooks(harness, webhook("crm", "desk.taken", "desk.returned", "thread.closed"))
    await harness.ask()
    fail_once(monkeypatch, harness.store, "close")
    with pytest.raises(StoreUnavailable):
        await close(harness)
    harness.clock.advance(60)
    await harness.take(ANNA)
    await close(harness)
    assert types(await hooked.settle()) == ["desk.taken", "desk.returned", "thread.closed"]


# Who gets what


async def test_each_webhook_gets_its_events_of_its_tenants_alone(harness: Harness) -> None:
    hooked = with_webhooks(
        harness,
        webhook("all"),
        webhook("failures", "run.failed"),
        webhook("mine", "message.created", tenants=["acme"]),
        webhook("theirs", "message.created", tenants=["globex", "acme-2"]),
    )
    await harness.say()
    bodies = await hooked.settle()
    hosts = [posted.url.split("/")[2].partition(".")[0] for posted in hooked.receivers.posted]
    assert sorted(hosts) == ["all", "all", "mine", "mine"]
    assert len({body["id"] for body in bodies}) == 2  # an event has one id wherever it is sent


async def test_without_a_receiver_of_an_event_nothing_is_queued(harness: Harness) -> None:
    with_webhooks(harness, webhook("failures", "run.failed"), webhook("theirs", tenants=["globex"]))
    await harness.say()
    await close(harness)
    assert harness.push_queue.sent == []


async def test_all_secrets_of_a_webhook_sign_while_it_changes_to_a_new_one(harness: Harness) -> None:
    hooked = with_webhooks(harness, webhook(secret=f"{OTHER_SECRET}\n{SECRET}"))
    await harness.say()
    await hooked.settle()
    assert verify_posted(hooked.receivers.posted[0], OTHER_SECRET, SECRET)


async def test_events_are_signed_at_the_machines_time_when_the_local_clock_is_ahead(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooked = with_webhooks(harness)
    run_ahead(harness, monkeypatch)
    await harness.say()
    await hooked.settle()
    assert hooked.receivers.posted[0].headers["webhook-timestamp"] == str(
        int(read_machine_time(harness.clock).timestamp())
    )


# Failures


async def test_what_a_receiver_does_not_take_is_sent_again_with_its_id_and_before_later_events(
    harness: Harness,
) -> None:
    hooked = with_webhooks(harness)
    hooked.receivers.answers = [500, WebhookUnreachable, 302, 404]
    await harness.say("m1", "One")
    await harness.say("m2", "Two")
    bodies = await hooked.wait(1)
    assert texts(bodies) == ["One"] * 4 + ["One", "Hello there.", "Two", "Hello there."]
    assert len({body["id"] for body in bodies[:5]}) == 1
    assert len({posted.headers["webhook-timestamp"] for posted in hooked.receivers.posted[:5]}) == 5
    assert hooked.failures == ["status 500", "no answer: told to", "status 302", "status 404"]


async def test_a_receiver_that_is_down_delays_no_other_one_and_other_conversations(harness: Harness) -> None:
    hooked = with_webhooks(harness, webhook("down"), webhook("up"))

    async def post(url: str, *_: Any) -> int:
        return 503 if "down" in url else 200

    posted: list[str] = []

    async def note(url: str, body: bytes, headers: Any) -> int:
        posted.append(url)
        return await post(url)

    hooked.receivers.post = note  # type: ignore[method-assign]
    await harness.say("m1", "One")
    await hooked.settle()
    assert [url.split("/")[2] for url in posted] == ["down.example", "up.example", "up.example"]


async def test_attempts_stop_after_a_day_and_the_event_is_dead(harness: Harness) -> None:
    hooked = with_webhooks(harness, webhook("crm", "message.created"))
    hooked.receivers.answers = [500] * 1_000
    await harness.say()
    began = int(harness.clock.now().timestamp())
    first, *_ = await hooked.wait(2 * DAY)
    attempts = [
        timedelta(seconds=int(posted.headers["webhook-timestamp"]) - began)
        for posted in hooked.receivers.posted
        if posted.headers["webhook-id"] == first["id"]
    ]
    assert attempts == list(ATTEMPT_AGES)
    # The answer has waited behind the question for as long: it is tried once, and dies too.
    assert len(hooked.receivers.posted) == len(ATTEMPT_AGES) + 1
    dead = await dead_of(harness)
    assert [
        (delivery["status"], delivery["event"], delivery["webhookId"], delivery["reason"]) for delivery in dead
    ] == [("dead", "message.created", "crm", "status 500")] * 2
    assert first["id"] in {delivery["eventId"] for delivery in dead}


def test_attempts_are_frequent_for_five_minutes_and_then_at_growing_gaps() -> None:
    gaps = [later - earlier for earlier, later in itertools.pairwise(ATTEMPT_AGES)]
    assert gaps == sorted(gaps)
    assert timedelta(minutes=5) in ATTEMPT_AGES
    assert len(ATTEMPT_AGES) < MAX_RECEIVES, "the queue would give a record up before its last attempt"
    assert max(gaps) < timedelta(hours=12), "no queue postpones a record for longer"


@pytest.mark.parametrize("refusal", [410, WebhookRefused])
async def test_what_is_refused_for_good_is_tried_on_or_given_up(harness: Harness, refusal: Any) -> None:
    hooked = with_webhooks(harness, webhook("crm", "thread.closed"))
    hooked.receivers.answers = [refusal] * 1_000
    await harness.say()
    await close(harness)
    await hooked.settle()
    assert bool(await dead_of(harness)) is (refusal == 410)  # operators may repair their settings within the day
    await hooked.wait(DAY)
    assert len(await dead_of(harness)) == 1


async def test_a_record_that_the_queue_would_drop_is_dead_before_its_day_is_over(harness: Harness) -> None:
    """Workers that die use up deliveries, of which a record has a few."""
    hooked = with_webhooks(harness, webhook("crm", "thread.closed"))
    hooked.receivers.answers = [500] * 2
    await harness.say()
    await close(harness)
    await hooked.settle()
    [delivery] = harness.push_queue.sent
    body = delivery.model_dump_json(by_alias=True, exclude_none=True)
    await Notifications.of(harness.app).run(body, "handle", MAX_RECEIVES)
    assert len(await dead_of(harness)) == 1


# Workers that die


async def test_a_worker_that_dies_before_its_commit_has_queued_the_end(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is sent before another worker has committed the run, and then everything."""
    hooked = with_webhooks(harness)
    fail_once(monkeypatch, harness.store, "commit")
    with pytest.raises(Exception):  # noqa: B017,PT011 - as a worker dies
        await harness.say("m1", "One")
    assert await hooked.settle() == []
    harness.clock.advance(60)
    await harness.say("m1", "One")
    assert texts(await hooked.wait(1)) == ["One", "Hello there."]


async def test_a_queue_that_is_down_fails_no_turn(harness: Harness) -> None:
    hooked = with_webhooks(harness)
    harness.push_queue.is_down = True
    assert (await harness.say()).types[-1] == "RUN_FINISHED"
    harness.push_queue.is_down = False
    assert await hooked.settle() == []


async def test_a_sender_that_dies_among_deliveries_repeats_them_with_their_ids(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooked = with_webhooks(harness)
    await harness.say()
    fail_once(monkeypatch, harness.push_queue, "send", after=1)
    first = await hooked.settle()
    bodies = first + await hooked.wait(1)
    assert texts(bodies) == ["Hello", "Hello there."]


# Dead deliveries


async def make_dead_delivery(harness: Harness) -> tuple[Hooked, dict[str, Any]]:
    """Close a conversation whose receiver refuses the event, and return the dead delivery."""
    hooked = with_webhooks(harness, webhook("crm", "thread.closed"))
    hooked.receivers.answers = [410]
    await harness.say()
    await close(harness)
    await hooked.settle()
    [delivery] = await dead_of(harness)
    return hooked, delivery


async def test_a_dead_delivery_is_sent_again_with_its_id_and_audited(harness: Harness) -> None:
    hooked, delivery = await make_dead_delivery(harness)
    [first] = hooked.receivers.posted
    served = Served(harness)
    answer_ = await served.post(f"{DELIVERIES}/{delivery['id']}/redeliver", None, MANAGER, user="eve")
    assert (answer_.status_code, answer_.json()) == (
        202,
        delivery | {"status": "waiting", "diedAt": None, "reason": None},
    )
    assert await dead_of(harness) == []
    [body] = await hooked.settle()
    assert body == json.loads(first.body)
    again = await served.post(f"{DELIVERIES}/{delivery['id']}/redeliver", None, MANAGER, user="eve")
    assert (again.status_code, again.json()["code"]) == (404, "not_found")
    [record] = [record for record in harness.audit.records if record.action == "webhook.redeliver"]
    assert (record.scope.user_id, record.thread_id, record.outcome) == ("eve", harness.thread_id, "queued")


async def test_one_that_fails_again_has_another_day_and_is_dead_again(harness: Harness) -> None:
    hooked, delivery = await make_dead_delivery(harness)
    harness.clock.advance(7 * 86_400)
    await Served(harness).post(f"{DELIVERIES}/{delivery['id']}/redeliver", None, MANAGER)
    hooked.receivers.answers = [500] * 1_000
    assert len(await hooked.wait(DAY)) == len(ATTEMPT_AGES)
    [again] = await dead_of(harness)
    assert again["id"] == delivery["id"]


async def test_dead_deliveries_are_for_managers_of_their_own_tenant(harness: Harness) -> None:
    hooked, delivery = await make_dead_delivery(harness)
    path = f"{DELIVERIES}/{delivery['id']}/redeliver"
    served = Served(harness)
    assert (await served.get(DELIVERIES, status="dead")).status_code == 403
    assert (await served.post(path, None, "thread:read_all")).status_code == 403
    harness.ada = Scope("globex", "ada")
    assert (await served.items(DELIVERIES, MANAGER, status="dead"))[0] == []
    assert (await served.post(path, None, MANAGER)).status_code == 404
    assert (await served.get(DELIVERIES, MANAGER, status="alive")).status_code == 422
    assert await hooked.settle() == []


@pytest.mark.parametrize("delivery_id", ["x", "..", "%00", "x" * 200, "a.b"])
async def test_a_text_that_is_no_delivery_is_not_found(harness: Harness, delivery_id: str) -> None:
    answer_ = await Served(harness).post(f"{DELIVERIES}/{delivery_id}/redeliver", None, MANAGER)
    assert answer_.status_code in (404, 422)


# Forgetting and removed webhooks


@pytest.mark.parametrize("when", ["change", "delivery"])
async def test_deliveries_of_a_forgotten_conversation_are_dropped(harness: Harness, when: str) -> None:
    hooked = with_webhooks(harness)
    await harness.say()
    if when == "delivery":
        hooked.receivers.answers = [500]
        await hooked.settle()
    harness.store.rows.clear()
    assert await hooked.wait(DAY) == []
    assert (hooked.waits, await dead_of(harness)) == (False, [])


async def test_a_conversation_with_the_id_of_a_forgotten_one_has_events_of_its_own() -> None:
    bodies = []
    for day in range(2):
        harness = Harness()  # where nothing is left of the first one
        harness.thread_id = "6b1f0c7e-1111-4222-8333-444455556666"
        harness.clock.advance(day * 86_400)
        hooked = with_webhooks(harness)
        await harness.say()
        await close(harness)
        bodies += await hooked.settle()
    assert types(bodies) == ["message.created", "message.created", "thread.closed"] * 2
    assert len({body["id"] for body in bodies}) == 6


async def test_a_webhook_that_was_removed_gets_nothing_more(harness: Harness) -> None:
    hooked = with_webhooks(harness)
    hooked.receivers.answers = [500]
    await harness.say()
    await hooked.settle()
    with_webhooks(harness, webhook("other"))
    assert await hooked.wait(DAY) == []
    assert (hooked.waits, await dead_of(harness)) == (False, [])


async def test_two_tenants_with_one_host_id_have_events_of_their_own() -> None:
    """The same conversation id of a host is another thread in each tenant."""
    bodies = []
    for tenant in ("acme", "globex"):
        harness = Harness()
        harness.ada = Scope(tenant, "ada")
        hooked = with_webhooks(harness, webhook("crm", "message.created", tenants=[tenant]))
        await harness.say()
        bodies += await hooked.settle()
    assert [body["tenantId"] for body in bodies] == ["acme", "acme", "globex", "globex"]
    assert len({body["id"] for body in bodies}) == 4


async def test_secrets_are_in_no_log_and_no_list(
    harness: Harness, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    _, delivery = await make_dead_delivery(harness)
    reported = capsys.readouterr().out + caplog.text + str(delivery) + str(harness.push_queue) + str(webhook())
    assert "event given up" in reported
    assert SECRET.removeprefix("whsec_") not in reported


async def test_an_event_of_a_message_to_people_waits_for_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread does not show the run, so the record may be read while it is being committed."""
    harness = DeskHarness()
    hooked = with_webhooks(harness, webhook("crm", "message.created"))
    await harness.ask()
    await harness.turns.run(harness.ada, harness.request("m2", "Hello?"), lambda event: None, seconds=20)
    await hooked.settle()
    commit = harness.store.commit

    async def commit_late(lease: Lease, changes: Commit) -> CommittedThread:
        assert lease.is_optimistic
        assert await hooked.settle() == []
        return await commit(lease, changes)

    monkeypatch.setattr(harness.store, "commit", commit_late)
    await harness.turns.run(harness.ada, harness.request("m3", "Are you there?"), lambda event: None, seconds=20)
    [created] = await hooked.wait(1)
    assert created["data"]["message"]["content"] == "Are you there?"
