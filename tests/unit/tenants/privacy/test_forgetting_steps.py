"""The steps of forgetting, crashed anywhere, carried out twice, and with something that will not go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from baton.composition.app import build
from baton.domain.documents.search import IndexDocument, IndexName, SearchFilter
from baton.domain.errors import NotFound, StoreUnavailable
from baton.domain.memory.forgetting import (
    MAX_ROUNDS,
    EpisodeTrace,
    ForgetRequest,
    ForgetStatus,
    ForgetSubject,
    NextStep,
    Retention,
)
from baton.domain.tenants.activity import RUN_SECONDS, Activity, Counter, CounterKind, Place, ThreadUse, derive_user_tag
from baton.domain.tenants.identity import Scope
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.tenants.forget_requests import FakeForgetRequests
from tests.fakes.erasure import FakeErasure, FakeForgettings, FakeObjectErasure, FakeRetentions
from tests.harness.harness import Harness

ADA, BOB = Scope("acme", "ada"), Scope("acme", "bob")


class Steps:
    """Forgetting over fakes, driven as the state machine does."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.erasure = FakeErasure(self.clock)
        self.objects = FakeObjectErasure()
        self.requests = FakeForgetRequests()
        self.forgettings = FakeForgettings()
        self.retentions = FakeRetentions()
        self.harness = Harness(clock=self.clock)
        self.app = build(
            self.harness.with_ports(
                erasure=self.erasure,
                objects=self.objects,
                forget_requests=self.requests,
                forgettings=self.forgettings,
                retentions=self.retentions,
            )
        )
        forgetting = self.app.privacy.forgetting
        self.app.privacy.forgetting = replace(forgetting, waits=replace(forgetting.waits, cancel=0.0))

    def talk(self, scope: Scope, thread_id: str, *, parent: str | None = None) -> None:
        self.erasure.put(scope, thread_id, items=4, parent=parent)
        self.objects.versions[scope.tenant_id, thread_id] = 2

    async def request_forgetting(self) -> ForgetRequest:
        return await self.app.privacy.forget_calls.forget_user(ADA, "me")

    async def run(self, request_id: str, *, most: int = 60) -> list[str]:
        """Carry the request out; a step that crashes is repeated. Returns the answers."""
        messages: list[str] = []
        step = self.app.privacy.forgetting.sweep
        for _ in range(most):
            try:
                result = await step(ADA, request_id, seconds=60)
            except ConnectionError:
                messages.append("crash")
                continue
            messages.append(result.next.value)
            if result.next is NextStep.WAIT:
                self.clock.advance(960)
            if result.next in (NextStep.DONE, NextStep.INCOMPLETE):
                return messages
            step = (
                self.app.privacy.forgetting.verify
                if result.next is NextStep.VERIFY
                else self.app.privacy.forgetting.sweep
            )
        raise AssertionError(messages)


@pytest.fixture
def steps() -> Steps:
    return Steps()


async def test_two_rounds_and_a_look_at_everything_complete_a_request(steps: Steps) -> None:
    steps.talk(ADA, "t1")
    steps.talk(ADA, "t2", parent="t1")
    steps.talk(BOB, "t3")
    request = await steps.request_forgetting()
    assert await steps.run(request.id) == ["wait", "verify", "done"]
    done = await steps.app.privacy.forget_calls.get(ADA, request.id)
    assert (done.status, dict(done.residue)) == (ForgetStatus.COMPLETED, {})
    assert dict(done.counts) == {"messages": 8, "objectVersions": 4, "threads": 2}
    assert set(steps.erasure.traces) == {("acme", "t3")}
    assert steps.erasure.items["acme", "t3"] == 4


@pytest.mark.parametrize("crash_at", range(1, 40))
async def test_a_crash_at_any_step_leaves_nothing_behind(steps: Steps, crash_at: int) -> None:
    steps.talk(ADA, "t1")
    steps.talk(ADA, "t2", parent="t1")
    steps.talk(ADA, "t4")
    steps.talk(BOB, "t3")
    steps.erasure.of_users["acme", "ada"] = 1
    request = await steps.request_forgetting()
    steps.erasure.crash_at = steps.erasure.steps + crash_at
    assert (await steps.run(request.id))[-1] == "done"
    assert set(steps.erasure.traces) == {("acme", "t3")}
    assert +steps.erasure.items == {("acme", "t3"): 4}
    assert +steps.objects.versions == {("acme", "t3"): 2}
    assert +steps.erasure.of_users == {}


async def test_what_will_not_go_fails_the_request_after_the_last_round(steps: Steps) -> None:
    steps.talk(ADA, "t1")
    steps.erasure.stubborn.add("t1")
    request = await steps.request_forgetting()
    message = await steps.run(request.id)
    assert message.count("verify") == MAX_ROUNDS - 1
    assert message[-1] == "incomplete"
    done = await steps.app.privacy.forget_calls.get(ADA, request.id)
    assert (done.status, dict(done.residue)) == (ForgetStatus.FAILED, {"messages": 4})
    [record] = [record for record in steps.harness.audit.records if record.outcome == "failed"]
    assert record.detail["residue"] == {"messages": 4}
    assert steps.erasure.traces["acme", "t1"].is_buried, "the tombstone stays"


async def test_tokens_of_a_forgotten_conversation_count_before_its_tombstone_is_removed(steps: Steps) -> None:
    steps.talk(ADA, "t1")
    user, until = derive_user_tag(ADA), int(steps.clock.now().timestamp()) + RUN_SECONDS
    counters = [Counter(CounterKind.RUNS), Counter(CounterKind.RUNS, user)]
    activity = Activity(1, places={"t1": Place(user, until, run="m1", fence=1, tokens=100)})
    steps.harness.activity.counts = {("acme", counter): activity for counter in counters}
    steps.harness.store.tombstones["acme", "t1"] = ThreadUse(2, None, tokens=1_000)
    await steps.run((await steps.request_forgetting()).id)
    for counter in counters:
        counted = await steps.harness.activity.get(ADA, counter)
        assert (dict(counted.tokens_of), dict(counted.places)) == ({user: 900}, {})


async def test_a_failed_request_is_asked_for_again(steps: Steps) -> None:
    steps.talk(ADA, "t1")
    first = await steps.request_forgetting()
    await steps.app.privacy.forgetting.give_up(ADA, first.id)
    second = await steps.request_forgetting()
    assert second.id != first.id
    assert (await steps.run(second.id))[-1] == "done"
    assert steps.erasure.traces == {}


async def test_steps_of_an_ended_request_change_nothing(steps: Steps) -> None:
    request = await steps.request_forgetting()
    await steps.run(request.id)
    steps.talk(ADA, "new")
    for again in (steps.app.privacy.forgetting.sweep, steps.app.privacy.forgetting.verify):
        assert (await again(ADA, request.id, seconds=60)).next is NextStep.DONE
    await steps.app.privacy.forgetting.give_up(ADA, request.id)
    assert (await steps.app.privacy.forget_calls.get(ADA, request.id)).status is ForgetStatus.COMPLETED
    assert ("acme", "new") in steps.erasure.traces


async def test_a_step_of_an_unknown_request_is_refused(steps: Steps) -> None:
    with pytest.raises(NotFound):
        await steps.app.privacy.forgetting.sweep(ADA, "unknown", seconds=60)


async def test_a_tombstone_of_another_request_stays_until_no_zombie_can_be_alive(steps: Steps) -> None:
    request = await steps.request_forgetting()
    await steps.app.privacy.forgetting.sweep(ADA, request.id, seconds=60)
    steps.clock.advance(900)
    steps.talk(ADA, "t1")
    await steps.erasure.bury(ADA, steps.erasure.traces["acme", "t1"])
    await steps.app.privacy.forgetting.sweep(ADA, request.id, seconds=60)
    assert (await steps.app.privacy.forgetting.verify(ADA, request.id, seconds=60)).next is NextStep.WAIT
    assert ("acme", "t1") in steps.erasure.traces
    steps.clock.advance(960)
    assert (await steps.run(request.id))[-1] == "done"
    assert steps.erasure.traces == {}


async def test_a_retention_that_changes_while_it_is_enforced_is_enforced_again(steps: Steps) -> None:
    stored = Retention(threads=30, changed_by="boss", changed_at=steps.clock.now())
    await steps.retentions.put(ADA, stored)
    await steps.app.privacy.retention_runs.start_due()
    steps.clock.advance(60)
    await steps.retentions.put(ADA, replace(stored, threads=3, changed_at=steps.clock.now()))
    await steps.app.privacy.retention_runs.start_due()
    [running] = steps.forgettings.started
    await steps.run(running)
    assert await steps.app.privacy.retention_runs.start_due() == 1
    assert len(steps.forgettings.started) == 2
    assert await steps.app.privacy.retention_runs.start_due() == 0


async def test_a_tenant_whose_retention_does_not_start_keeps_no_other_from_it_and_stays_due(
    steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    retention = Retention(threads=30, changed_by="boss", changed_at=steps.clock.now())
    scopes = [Scope(tenant_id, "ada") for tenant_id in ("acme", "globex", "initech")]
    for scope in scopes:
        await steps.retentions.put(scope, retention)
    really = steps.retentions.get

    async def get(scope: Scope) -> Retention:
        if scope.tenant_id == "globex":
            raise StoreUnavailable
        return await really(scope)

    with monkeypatch.context() as failing:
        failing.setattr(steps.retentions, "get", get)
        with pytest.raises(ExceptionGroup):
            await steps.app.privacy.retention_runs.start_due()
    assert len(steps.forgettings.started) == 2
    assert await steps.app.privacy.retention_runs.start_due() == 1
    assert await steps.app.privacy.retention_runs.start_due() == 0


async def test_the_end_of_a_request_is_audited_once_with_its_time(steps: Steps) -> None:
    await steps.retentions.put(ADA, Retention(threads=30, changed_by="boss", changed_at=steps.clock.now()))
    await steps.app.privacy.retention_runs.start_due()
    [request_id] = steps.forgettings.started
    await steps.run(request_id)
    [record] = [record for record in steps.harness.audit.records if record.action == "retention.enforce"]
    request = await steps.requests.get(ADA, request_id)
    assert request is not None
    assert record.at == request.ended_at == steps.clock.now()
    assert record.at > request.requested_at


async def test_retention_leaves_a_thread_whose_fork_is_in_use(steps: Steps) -> None:
    steps.talk(ADA, "t1")
    steps.talk(ADA, "t2")
    steps.clock.advance(40 * 86400)
    steps.talk(ADA, "fork", parent="t1")
    await steps.retentions.put(ADA, Retention(threads=30, changed_by="boss", changed_at=steps.clock.now()))
    assert await steps.app.privacy.retention_runs.start_due() == 1
    [request_id] = steps.forgettings.started
    assert (await steps.run(request_id))[-1] == "done"
    assert set(steps.erasure.traces) == {("acme", "t1"), ("acme", "fork")}


async def test_a_thread_that_has_become_another_users_is_left_alone(steps: Steps) -> None:
    thread_id = "3b1f8f3e-0000-4000-8000-000000000001"
    steps.talk(ADA, thread_id)
    request = ForgetRequest("r1", "acme", ForgetSubject.THREAD, "ada", "ada", steps.clock.now(), thread_id)
    await steps.requests.save(ADA, replace(request, status=ForgetStatus.FAILED))
    steps.talk(BOB, thread_id)
    again = await steps.app.privacy.forget_calls.forget_thread(ADA, thread_id)
    await steps.run(again.id)
    trace = steps.erasure.traces["acme", thread_id]
    assert (trace.user_id, trace.is_buried) == ("bob", False)
    assert steps.objects.versions["acme", thread_id] == 2


@pytest.mark.parametrize("crash_at", range(1, 8))
async def test_an_old_episode_goes_from_the_index_wherever_a_step_dies(steps: Steps, crash_at: int) -> None:
    old = EpisodeTrace("3b1f8f3e-0000-4000-8000-000000000001", 1, "ada")
    recent = EpisodeTrace(old.thread_id, 2, "ada")
    steps.erasure.listed[old] = ("acme", steps.clock.now())
    steps.clock.advance(40 * 86400)
    steps.erasure.listed[recent] = ("acme", steps.clock.now())
    for episode in (old, recent):
        document = IndexDocument(episode.id, episode.id, "message", {}, steps.clock.now(), thread_id=episode.thread_id)
        await steps.harness.search.put(ADA, IndexName.EPISODES, [document])
    await steps.retentions.put(ADA, Retention(episodes=30, changed_by="boss", changed_at=steps.clock.now()))
    await steps.app.privacy.retention_runs.start_due()
    steps.erasure.crash_at = crash_at
    assert (await steps.run(steps.forgettings.started[0]))[-1] == "done"
    assert list(steps.erasure.listed) == [recent]
    remaining = steps.harness.search.list(ADA, IndexName.EPISODES, SearchFilter())
    assert [document.source_id async for document in remaining] == [recent.id]
