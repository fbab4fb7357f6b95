"""Forgotten data is gone from every store, and all other data stays as it was."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from baton.adapters.dynamodb import keys
from baton.domain.documents.search import IndexName, SearchFilter
from baton.domain.errors import SearchUnavailable, ThreadUnavailable
from baton.domain.handoffs.workflow import Workflow, WorkflowStatus
from baton.domain.memory.episode import EpisodeRef, derive_episode_id
from baton.domain.memory.forgetting import ForgetRequest, ForgetStatus, Retention
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.threads.thread import EndReason
from baton.memory.episodes.session_closing import ClosingStep
from baton.ports.threads.handoffs import CompletedQuery
from baton.ports.threads.leases import LeaseRequest
from tests.contracts.dead_deliveries import dead_delivery
from tests.contracts.schedules import new_schedule
from tests.contracts.stores import make_answer, make_question, new_thread_id, turn
from tests.fakes.chat_model import Answer
from tests.integration.privacy.conftest import World
from tests.integration.privacy.stored_data import SECRET, at_desk, complete_workflow, conversation, index, traces_of

ADA, BOB, STRANGER = Scope("acme", "ada"), Scope("acme", "bob"), Scope("globex", "ada")


async def forget_thread(world: World, scope: Scope, thread_id: str) -> ForgetRequest:
    request = await world.app.privacy.forget_calls.forget_thread(scope, thread_id)
    await world.run(scope, request.id)
    done = await world.app.privacy.forget_calls.get(scope, request.id)
    assert done.status is ForgetStatus.COMPLETED, done
    return done


class TestThread:
    async def test_nothing_is_left_of_it_but_audit_records_without_content(self, world: World) -> None:
        thread_id = await conversation(world, ADA)
        done = await forget_thread(world, ADA, thread_id)
        remaining = traces_of(world, thread_id)
        assert {item["SK"].split("#")[0] for item in remaining} <= {"AUDIT", "REQUEST", "THREAD"}
        assert [item for item in remaining if item["SK"] == "THREAD"] == []
        assert traces_of(world, SECRET) == []
        assert world.versions() == []
        assert world.search.documents[IndexName.EPISODES, "acme", "ada"] == {}
        assert done.counts["messages"] == 4
        assert done.counts["searchDocuments"] == 1
        assert done.counts["objectVersions"] >= 7

    async def test_a_conversation_at_a_desk_leaves_no_place_there(self, world: World) -> None:
        thread_id = await conversation(world, ADA)
        await at_desk(world, ADA, thread_id)
        [location] = [item for item in traces_of(world, thread_id) if "~DESK#" in item["PK"]]
        await forget_thread(world, ADA, thread_id)
        assert location not in traces_of(world, thread_id)
        assert await world.stores.desk_places.threads(ADA, "support", limit=9) == []

    async def test_a_place_at_a_desk_that_cannot_be_removed_is_found_by_the_check(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        thread_id = await conversation(world, ADA)
        location = await at_desk(world, ADA, thread_id)
        erasure = world.stores.erasure
        trace = await erasure.trace(ADA, thread_id)
        assert trace is not None
        assert await erasure.bury(ADA, trace)
        await erasure.sweep(ADA, thread_id, deadline=asyncio.get_running_loop().time() + 60)
        assert await erasure.count_left(ADA, thread_id) == {}
        await world.stores.desk_places.add(ADA, location)
        assert await erasure.count_left(ADA, thread_id) == {"deskPlaces": 1}

    async def test_the_sandboxes_that_others_made_of_it_are_forgotten_too(self, world: World) -> None:
        thread_id = new_thread_id()
        await world.say(ADA, thread_id, SECRET, "m1")
        boss = Scope("acme", "boss", frozenset({Permission.THREAD_READ_ALL, Permission.PII_READ}))
        thread = await world.stores.store.get_thread(boss, thread_id)
        copy = await world.app.sandboxes.make(boss, thread, "m1", is_answered=True)
        await forget_thread(world, ADA, thread_id)
        assert traces_of(world, SECRET) == []
        with pytest.raises(ThreadUnavailable):
            await world.stores.store.get_thread(boss, copy.id)

    async def test_its_end_is_audited_with_counts(self, world: World) -> None:
        thread_id = await conversation(world, ADA)
        await forget_thread(world, ADA, thread_id)
        records, _ = await world.stores.audit.of_tenant(ADA, {"action": "thread.forget"}, limit=10, cursor=None)
        assert {record.outcome for record in records} == {"completed", "requested"}
        [done] = [record for record in records if record.outcome == "completed"]
        assert done.detail["threadId"] == thread_id
        assert done.detail["counts"]["messages"] == 4

    async def test_messages_are_refused_while_it_is_forgotten_and_begin_again_afterwards(self, world: World) -> None:
        thread_id = await conversation(world, ADA)
        request = await world.app.privacy.forget_calls.forget_thread(ADA, thread_id)
        await world.app.privacy.forgetting.sweep(ADA, request.id, seconds=60)
        with pytest.raises(ThreadUnavailable):
            await world.say(ADA, thread_id, "Hello?")
        with pytest.raises(ThreadUnavailable):
            await world.stores.store.get_thread(ADA, thread_id)
        assert (await world.app.privacy.forget_calls.forget_thread(ADA, thread_id)).id == request.id
        await world.run(ADA, request.id)
        await world.say(ADA, thread_id, "Hello again")
        thread = await world.stores.store.get_thread(ADA, thread_id)
        page = await world.stores.store.read_messages(ADA, thread, limit=10, before=None)
        assert [message.ordinal for message in page.messages] == [0, 1]
        records, _ = await world.stores.audit.of_thread(ADA, thread_id, limit=10, cursor=None)
        assert {record.action for record in records} <= {"thread.write", "thread.forget"}

    async def test_a_zombie_of_it_commits_nothing_and_what_it_wrote_is_removed(self, world: World) -> None:
        thread_id = await conversation(world, ADA)
        zombie = await world.stores.acquire(thread_id, scope=ADA, message_id="mz", run_id="rz")
        request = await world.app.privacy.forget_calls.forget_thread(ADA, thread_id)
        await world.app.privacy.forgetting.sweep(ADA, request.id, seconds=60)
        await world.stores.store.open_turn(zombie, turn(zombie))
        await world.stores.store.put_message(zombie, make_question(zombie, SECRET))
        with pytest.raises(Exception, match="continues this run"):
            await world.stores.commit(zombie, make_answer(zombie, SECRET))
        world.s3.put_object(Bucket=world.bucket, Key=f"acme/{thread_id}/inspector/late", Body=SECRET.encode())
        await index(world, ADA, thread_id)
        await world.run(ADA, request.id)
        assert (await world.app.privacy.forget_calls.get(ADA, request.id)).status is ForgetStatus.COMPLETED
        assert traces_of(world, SECRET, "rz") == []
        assert world.versions() == []

    @pytest.mark.parametrize("is_stale", [False, True])
    async def test_a_request_that_failed_or_lost_its_pipeline_is_made_again(self, world: World, is_stale: bool) -> None:
        thread_id = await conversation(world, ADA)
        first = await world.app.privacy.forget_calls.forget_thread(ADA, thread_id)
        await world.app.privacy.forgetting.sweep(ADA, first.id, seconds=60)
        if is_stale:
            world.clock.advance(2 * 86400)
        else:
            await world.app.privacy.forgetting.give_up(ADA, first.id)
        with pytest.raises(ThreadUnavailable):
            await world.app.privacy.forget_calls.forget_thread(BOB, thread_id)
        again = await forget_thread(world, ADA, thread_id)
        assert again.id != first.id
        assert [item for item in world.items() if item["SK"] == "THREAD"] == []

    async def test_a_turn_in_progress_is_forgotten_with_what_it_says_afterwards(self, world: World) -> None:
        thread_id, gate = await conversation(world, ADA), asyncio.Event()
        request_count = len(world.harness.model.requests)
        world.harness.model.script(Answer(("It ", "is ", SECRET), gate=gate, gate_at=1))
        turn_in_progress = asyncio.ensure_future(world.say(ADA, thread_id, SECRET))
        await world.harness.wait_for_requests(request_count + 1)
        request = await world.app.privacy.forget_calls.forget_thread(ADA, thread_id)
        await world.app.privacy.forgetting.sweep(ADA, request.id, seconds=60)
        gate.set()
        with pytest.raises(ThreadUnavailable):
            await turn_in_progress
        assert (await world.run(ADA, request.id))[-1] == "done"
        assert [item for item in traces_of(world, thread_id) if not _may_stay(item)] == []

    async def test_a_running_turn_is_asked_to_stop(self, world: World) -> None:
        thread_id = await conversation(world, ADA)
        await world.stores.acquire(thread_id, scope=ADA, message_id="mz", run_id="rz")
        request = await world.app.privacy.forget_calls.forget_thread(ADA, thread_id)
        requests: list[str] = []
        keep = world.stores.live.request_cancel

        async def note(scope: Scope, thread: str, run_id: str) -> None:
            requests.append(run_id)
            await keep(scope, thread, run_id)

        world.stores.live.request_cancel = note  # type: ignore[method-assign, assignment]
        await world.app.privacy.forgetting.sweep(ADA, request.id, seconds=60)
        assert requests == ["rz"]

    async def test_a_late_closing_stores_nothing(self, world: World) -> None:
        thread_id = await conversation(world, ADA)
        await world.harness.app.sweeper.sweep(seconds=5)
        lease = await world.stores.store.acquire(ADA, LeaseRequest(thread_id))
        await world.harness.app.sessions.endings.end(lease, _timeout())
        request = await world.app.privacy.forget_calls.forget_thread(ADA, thread_id)
        await world.app.privacy.forgetting.sweep(ADA, request.id, seconds=60)
        for step in ClosingStep:
            assert await world.app.memory.session_closing.run(step, ADA, thread_id, 1) is None
        # The place of an episode, by which it is found by its id, is outside of the thread's partition.
        location = keys.episode_place(ADA, derive_episode_id(thread_id, 1), thread_id, 1)
        await world.table.put({**location, "user_id": "ada"})
        await world.run(ADA, request.id)
        assert [item for item in world.items() if item["SK"].startswith(("EPISODE#", "AT#"))] == []

    async def test_it_is_another_users_or_tenants_own(self, world: World) -> None:
        thread_id = await conversation(world, ADA)
        before = world.items()
        for other in (BOB, STRANGER, Scope("acme", "boss", frozenset({"thread:read_all", "user:manage"}))):
            with pytest.raises(ThreadUnavailable):
                await world.app.privacy.forget_calls.forget_thread(other, thread_id)
        changed = [item for item in world.items() if item not in before]
        assert {item["SK"].split("#")[0] for item in changed} == {"AUDIT"}

    async def test_the_names_of_its_workflows_leave_the_users_other_threads(self, world: World) -> None:
        forgotten, stored = await conversation(world, ADA), await conversation(world, ADA, text="Kept")
        await _remember_workflow(world, forgotten, stored)
        assert traces_of(world, "w-1")
        await forget_thread(world, ADA, forgotten)
        thread = await world.stores.store.get_thread(ADA, stored)
        assert thread.conversation.resumable == ()
        assert traces_of(world, "w-1") == []

    async def test_its_completed_workflows_go_with_it_and_leave_the_lists(self, world: World) -> None:
        forgotten, stored = await conversation(world, ADA), await conversation(world, ADA, text="Kept")
        await complete_workflow(world, stored)
        await complete_workflow(world, forgotten)
        await forget_thread(world, ADA, forgotten)
        query = CompletedQuery("ada")
        page, _ = await world.stores.workflows.list_completed(ADA, query, limit=5, cursor=None)
        assert [done.workflow.thread_id for done in page] == [stored]
        request = await world.app.privacy.forget_calls.forget_user(ADA, "me")
        await world.run(ADA, request.id)
        assert await world.stores.workflows.list_completed(ADA, query, limit=5, cursor=None) == ([], None)
        assert [item for item in world.items() if item["SK"].startswith(("COMPLETED", "FLOW"))] == []

    async def test_its_dead_deliveries_to_webhooks_go_with_it_and_leave_the_list(self, world: World) -> None:
        forgotten, stored = await conversation(world, ADA), await conversation(world, ADA, text="Kept")
        for thread_id in (forgotten, stored):
            dead = dead_delivery(ADA, world.clock.now(), thread_id=thread_id)
            await world.stores.dead_deliveries.put(dead)
        await forget_thread(world, ADA, forgotten)
        page, _ = await world.stores.dead_deliveries.page(ADA, limit=5, cursor=None)
        assert [dead.delivery.thread_id for dead in page] == [stored]
        request = await world.app.privacy.forget_calls.forget_user(ADA, "me")
        await world.run(ADA, request.id)
        assert await world.stores.dead_deliveries.page(ADA, limit=5, cursor=None) == ([], None)
        assert [item for item in world.items() if item["SK"].startswith("WEBHOOK")] == []


class TestUser:
    async def test_nothing_is_left_of_the_user(self, world: World) -> None:
        mine = [await conversation(world, ADA) for _ in range(3)]
        other, foreign = await conversation(world, BOB), await conversation(world, STRANGER)
        await index(world, ADA, None)  # an imported episode
        stored = [item for item in world.items() if other in repr(item) or foreign in repr(item)]
        versions = [key for key in world.versions() if other in key or foreign in key]
        request = await world.app.privacy.forget_calls.forget_user(ADA, "me")
        assert await world.run(ADA, request.id) == ["wait", "verify", "done"]
        assert [item for item in traces_of(world, *mine) if not _may_stay(item)] == []
        after = [item for item in world.items() if other in repr(item) or foreign in repr(item)]
        assert sorted(after, key=_key) == sorted(stored, key=_key)
        assert sorted(world.versions()) == sorted(versions)
        assert world.search.documents[IndexName.EPISODES, "acme", "ada"] == {}
        assert len(world.search.documents[IndexName.EPISODES, "acme", "bob"]) == 1

    async def test_the_users_last_time_zone_is_forgotten_unless_it_was_set_after_the_cutoff(self, world: World) -> None:
        for scope in (ADA, BOB):
            await world.harness.say(scope=scope, thread_id=new_thread_id(), time_zone="Europe/Vienna")
        request = await world.app.privacy.forget_calls.forget_user(ADA, "me")
        assert await world.run(ADA, request.id) == ["wait", "verify", "done"]
        done = await world.app.privacy.forget_calls.get(ADA, request.id)
        assert done.counts["timeZones"] == 1
        assert await world.stores.time_zones.last(ADA) is None
        assert await world.stores.time_zones.last(BOB) is not None

        await world.harness.say(thread_id=new_thread_id(), scope=ADA, time_zone="Europe/Vienna")
        request = await world.app.privacy.forget_calls.forget_user(ADA, "me")
        await world.app.privacy.forgetting.sweep(ADA, request.id, seconds=60)
        world.clock.advance(960)
        await world.app.privacy.forgetting.sweep(ADA, request.id, seconds=60)
        world.clock.advance(1)
        await world.harness.say(thread_id=new_thread_id(), scope=ADA, time_zone="Asia/Tokyo")
        assert await world.run(ADA, request.id) == ["verify", "done"]
        last = await world.stores.time_zones.last(ADA)
        assert last is not None
        assert last.name == "Asia/Tokyo"

    async def test_what_is_said_while_it_runs_is_forgotten_and_what_is_said_after_the_cutoff_stays(
        self, world: World
    ) -> None:
        await conversation(world, ADA)
        request = await world.app.privacy.forget_calls.forget_user(ADA, "me")
        await world.app.privacy.forgetting.sweep(ADA, request.id, seconds=60)
        world.clock.advance(60)
        meanwhile = await conversation(world, ADA)
        world.clock.advance(900)
        await world.app.privacy.forgetting.sweep(ADA, request.id, seconds=60)
        world.clock.advance(1)
        later = await conversation(world, ADA, text="Later")
        await world.run(ADA, request.id)
        done = await world.app.privacy.forget_calls.get(ADA, request.id)
        assert done.status is ForgetStatus.COMPLETED
        remaining = {item["PK"] for item in world.items() if item["SK"] == "THREAD"}
        assert remaining == {f"acme#{later}"}
        assert [item for item in traces_of(world, meanwhile) if not _may_stay(item)] == []
        assert [
            document.thread_id for document in world.search.documents[IndexName.EPISODES, "acme", "ada"].values()
        ] == [later]

    async def test_uploads_without_a_conversation_are_found(self, world: World) -> None:
        thread_id = new_thread_id()
        await world.ports.erasure.note_upload(ADA, thread_id)
        world.s3.put_object(Bucket=world.bucket, Key=f"acme/{thread_id}/files/file_1", Body=b"mine")
        request = await world.app.privacy.forget_calls.forget_user(ADA, "me")
        assert (await world.run(ADA, request.id))[-1] == "done"
        assert world.versions() == []
        assert traces_of(world, thread_id) == []

    async def test_a_user_with_newer_schedules_stays_in_the_tenants_list_of_them(self, world: World) -> None:
        schedules, erasure = world.stores.schedules, world.ports.erasure
        await schedules.add(ADA, new_schedule(world.clock.now(), "old"))
        cutoff = world.clock.now()
        world.clock.advance(1)
        await schedules.add(ADA, new_schedule(world.clock.now(), "newer"), is_first=False)
        assert await erasure.sweep_user(ADA, before=cutoff) == {"schedules": 1}
        assert [schedule.id for schedule in await schedules.of_user(ADA)] == ["newer"]
        assert [user async for user in schedules.users(ADA)] == ["ada"]
        assert await erasure.sweep_user(ADA, before=world.clock.now()) == {"schedules": 1}
        assert [user async for user in schedules.users(ADA)] == []

    async def test_asking_twice_makes_one_request(self, world: World) -> None:
        first = await world.app.privacy.forget_calls.forget_user(ADA, "me")
        assert (await world.app.privacy.forget_calls.forget_user(ADA, "ada")).id == first.id
        assert world.forgettings.started == [first.id]
        await world.run(ADA, first.id)
        assert (await world.app.privacy.forget_calls.forget_user(ADA, "me")).id != first.id

    async def test_user_and_thread_can_be_forgotten_at_once(self, world: World) -> None:
        thread_id = await conversation(world, ADA)
        one = await world.app.privacy.forget_calls.forget_thread(ADA, thread_id)
        other = await world.app.privacy.forget_calls.forget_user(ADA, "me")
        for _ in range(2):
            await world.app.privacy.forgetting.sweep(ADA, one.id, seconds=60)
            await world.app.privacy.forgetting.sweep(ADA, other.id, seconds=60)
        for request in (one, other):
            await world.run(ADA, request.id)
            assert (await world.app.privacy.forget_calls.get(ADA, request.id)).status is ForgetStatus.COMPLETED
        assert [item for item in world.items() if item["SK"] == "THREAD"] == []

    async def test_a_short_time_limit_continues_where_it_ended(self, world: World) -> None:
        for _ in range(3):
            await conversation(world, ADA)
        request = await world.app.privacy.forget_calls.forget_user(ADA, "me")
        result = await world.app.privacy.forgetting.sweep(ADA, request.id, seconds=0)
        assert result.next.value == "sweep"
        await world.run(ADA, request.id)
        assert traces_of(world, SECRET) == []


class TestRetention:
    async def test_what_is_too_old_is_forgotten(self, world: World) -> None:
        old, other = await conversation(world, ADA), await conversation(world, STRANGER)
        world.clock.advance(40 * 86400)
        recent = await conversation(world, BOB)
        await world.ports.retentions.put(ADA, Retention(threads=30, changed_by="boss", changed_at=world.clock.now()))
        assert await world.app.privacy.retention_runs.start_due() == 1
        assert await world.app.privacy.retention_runs.start_due() == 0
        [request_id] = world.forgettings.started
        await world.run(Scope("acme", "boss"), request_id)
        threads = {item["PK"] for item in world.items() if item["SK"] == "THREAD"}
        assert threads == {f"acme#{recent}", f"globex#{other}"}
        assert not any(old in key for key in world.versions())

    async def test_old_audit_records_and_episodes_go_and_the_conversation_stays(self, world: World) -> None:
        thread_id = await conversation(world, ADA)
        lease = await world.stores.store.acquire(ADA, LeaseRequest(thread_id))
        await world.harness.app.sessions.endings.end(lease, _timeout())
        world.clock.advance(40 * 86400)
        await world.say(ADA, thread_id, "Still here")
        await world.ports.retentions.put(
            ADA, Retention(audit=30, episodes=30, changed_by="boss", changed_at=world.clock.now())
        )
        await world.app.privacy.retention_runs.start_due()
        [request_id] = world.forgettings.started
        await world.run(Scope("acme", "boss"), request_id)
        kinds = {item["SK"].split("#")[0] for item in world.items() if item["PK"] == f"acme#{thread_id}"}
        assert "EPISODE" not in kinds
        assert "AUDIT" not in kinds
        assert "MSG" in kinds

    async def test_what_an_interrupted_sweep_left_of_an_episode_goes_with_the_next(self, world: World) -> None:
        thread_id = await conversation(world, ADA)
        lease = await world.stores.store.acquire(ADA, LeaseRequest(thread_id))
        await world.harness.app.sessions.endings.end(lease, _timeout())
        await index(world, ADA, thread_id, source_id=derive_episode_id(thread_id, 1))
        world.clock.advance(40 * 86400)
        await world.ports.retentions.put(ADA, Retention(episodes=30, changed_by="boss", changed_at=world.clock.now()))
        await world.app.privacy.retention_runs.start_due()
        [request_id] = world.forgettings.started
        boss = Scope("acme", "boss")
        world.search.failure = SearchUnavailable()
        with pytest.raises(SearchUnavailable):
            await world.app.privacy.forgetting.sweep(boss, request_id, seconds=60)
        world.search.failure = None
        await world.run(boss, request_id)
        remaining = world.search.list(ADA, IndexName.EPISODES, SearchFilter())
        assert [document.source_id async for document in remaining] == [f"e-{thread_id}"]
        assert [item for item in world.items() if "EPISODE" in item["PK"] + item["SK"]] == []

    async def test_an_imported_session_is_as_old_as_its_end(self, world: World) -> None:
        thread_id = await conversation(world, ADA)
        await world.ports.retentions.put(ADA, Retention(episodes=30, changed_by="boss", changed_at=world.clock.now()))
        lease = await world.stores.store.acquire(ADA, LeaseRequest(thread_id))
        ended_at = world.clock.now() - timedelta(days=400)
        old = EpisodeRef(thread_id, 1, 0, lease.thread.next_ordinal, EndReason.USER_CLOSED, ended_at)
        await world.stores.episodes.begin(lease, old)
        await world.stores.store.release(lease)
        await world.app.privacy.retention_runs.start_due()
        await world.run(Scope("acme", "boss"), world.forgettings.started[0])
        assert await world.stores.episodes.find(ADA, old.id) is None


def _may_stay(item: dict[str, Any]) -> bool:
    return item["SK"].startswith(("AUDIT#", "REQUEST#", "USER#", "THREAD#")) and SECRET not in repr(item)


def _key(item: dict[str, Any]) -> tuple[str, str]:
    return item["PK"], item["SK"]


def _timeout() -> EndReason:
    return EndReason.TIMEOUT


async def _remember_workflow(world: World, of: str, in_thread: str) -> None:
    """A workflow of one thread that another thread offers to continue."""
    now = world.clock.now()
    workflow = Workflow(
        id="w-1",
        agent_id="assistant",
        name="Slack alert",
        state="s",
        data={},
        thread_id=of,
        version="1",
        updated_at=now,
        expires_at=now + timedelta(days=3),
        status=WorkflowStatus.SAVED,
    )
    lease = await world.stores.store.acquire(ADA, LeaseRequest(of))
    await world.stores.workflows.put(lease, workflow)
    await world.stores.store.release(lease)
    lease = await world.stores.store.acquire(ADA, LeaseRequest(in_thread))
    await world.stores.store.close(lease, last_seq=lease.first_seq, ended=None, resumable=[workflow])


@pytest.mark.parametrize(
    "crash_at", [pytest.param(at, marks=pytest.mark.nightly) if at % 24 != 1 else at for at in range(1, 60, 6)]
)
async def test_a_crash_at_any_call_of_a_store_leaves_nothing_behind(
    new_world: Callable[[], World], crash_at: int
) -> None:
    world = new_world()
    thread_id = await conversation(world, ADA)
    request = await world.app.privacy.forget_calls.forget_user(ADA, "me")
    calls = 0

    def crash(**_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == crash_at:
            raise ZombieDied

    for store in (world.dynamodb, world.s3):
        store.meta.events.register("before-call", crash, unique_id=f"crash-{thread_id}")
    try:
        for _ in range(3):
            try:
                await world.run(ADA, request.id)
                break
            except ZombieDied:
                world.clock.advance(960)
    finally:
        for store in (world.dynamodb, world.s3):
            store.meta.events.unregister("before-call", crash, unique_id=f"crash-{thread_id}")
    assert (await world.app.privacy.forget_calls.get(ADA, request.id)).status is ForgetStatus.COMPLETED
    assert [item for item in traces_of(world, thread_id) if not _may_stay(item)] == []
    assert world.versions() == []


class ZombieDied(Exception):
    """The worker dies here."""
