"""A restore copies what is lost from a restored table, and overwrites nothing newer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import serialize
from baton.adapters.dynamodb.table import Table
from baton.domain.errors import LeaseLost, StoreUnavailable, ThreadUnavailable
from baton.domain.memory.forgetting import ForgetStatus, Retention
from baton.domain.memory.procedure import ProcedureAction, ProcedureDecision, ProcedureScope
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.threads.feedback import Feedback, Rating
from baton.threads.schedules.schedule_making import ScheduleChange
from baton_deployment.restoring.choice import Choice
from baton_deployment.restoring.conversation_check import ConversationCheck
from baton_deployment.restoring.counts import Counts
from baton_deployment.restoring.due_items import PastDue
from baton_deployment.restoring.forgotten import ForgottenSince
from baton_deployment.restoring.live_writes import LiveWrites
from baton_deployment.restoring.object_versions import ObjectVersions
from baton_deployment.restoring.repeated_requests import RepeatedRequests
from baton_deployment.restoring.restoration import Position, Restoration, Stores
from tests.contracts.stores import make_answer, make_question, new_thread_id, turn
from tests.engines import TableAt
from tests.harness.due import DueHarness
from tests.harness.removals import remove_tenant
from tests.integration.privacy.conftest import World
from tests.integration.privacy.stored_data import SECRET, at_desk, capture, complete_workflow, conversation, traces_of

ADA, BOB = Scope("acme", "ada"), Scope("acme", "bob")
EVERYTHING = Choice()


class Drill:
    """A live world and the table that a point-in-time restore would make of it."""

    def __init__(self, world: World, new_table: Callable[[str], TableAt], endpoint: str) -> None:
        self.world = world
        self.source = Table(world.dynamodb, new_table(endpoint).name)
        self.at = datetime.now(UTC)

    async def remember(self) -> None:
        """Copy the live table as it is, as a restore to this moment would."""
        for item in self.world.items():
            self.world.dynamodb.put_item(TableName=self.source.name, Item=serialize(item))
        self.at = datetime.now(UTC)
        # S3 counts in whole seconds: what is deleted in the next one was there at this time.
        while datetime.now(UTC).replace(microsecond=0) <= self.at:  # noqa: ASYNC110 - a clock has no event
            await asyncio.sleep(0.05)

    def lose(self, *partitions: str, prefix: str = "") -> int:
        """Delete the items of these partitions from the live table, and their files; the number of items."""
        lost = [item for item in self.world.items() if item["PK"] in partitions and item["SK"].startswith(prefix)]
        for item in lost:
            key = serialize({"PK": item["PK"], "SK": item["SK"]})
            self.world.dynamodb.delete_item(TableName=self.world.table_name, Key=key)
        return len(lost)

    async def texts(self, scope: Scope, thread_id: str) -> list[str]:
        """The texts of a conversation, as its user reads them."""
        store = self.world.harness.store
        page = await store.read_messages(scope, await store.get_thread(scope, thread_id), limit=100, before=None)
        return [message.text for message in page.messages]

    @property
    def stores(self) -> Stores:
        world = self.world
        forgotten = ForgottenSince(self.source, world.table, self.at, world.clock)
        objects = ObjectVersions(world.s3, world.bucket, world.bucket, self.at)
        return Stores(self.source, world.table, objects, forgotten, world.clock)

    async def restore(
        self, choice: Choice = EVERYTHING, *, writes: bool = True, size: int = 64, **options: Any
    ) -> Counts:
        restoration = Restoration(self.stores, choice, writes=writes, page_size=size, batch_size=size)
        return await restoration.run(options.pop("report", _ignore), **options)

    async def verify(self) -> Counts:
        check = ConversationCheck(self.world.table, self.stores.objects)
        return await Restoration(self.stores, EVERYTHING, writes=False, check=check).run(_ignore)


async def _ignore(counts: Counts, position: Position | None) -> None:
    pass


@pytest.fixture
async def drill(world: World, new_table: Callable[[str], TableAt], dynamodb_local: str) -> Drill:
    return Drill(world, new_table, dynamodb_local)


def partition(scope: Scope, thread_id: str) -> str:
    return keys.partition(scope, thread_id)


async def test_a_lost_conversation_comes_back_and_goes_on(drill: Drill) -> None:
    world, thread_id, other = drill.world, new_thread_id(), new_thread_id()
    await world.say(ADA, thread_id, "My name is Ada.")
    await world.say(BOB, other, "Hello")
    await drill.remember()
    drill.lose(partition(ADA, thread_id), keys.owner(thread_id)["PK"])

    plan = await drill.restore(Choice("acme", thread_id), writes=False)
    assert plan.conversations == {"restored": 1}
    assert partition(ADA, thread_id) not in {item["PK"] for item in world.items()}

    done = await drill.restore(Choice("acme", thread_id))
    assert (done.conversations, done.items) == (plan.conversations, plan.items)
    assert done.items["messages"] == 2

    await world.say(ADA, thread_id, "What is my name?")
    assert await drill.texts(ADA, thread_id) == ["My name is Ada.", "Hello there.", "What is my name?", "Hello there."]
    again = await drill.restore()
    assert again.conversations == {"gone on": 1, "unchanged": 1}
    assert again.changes == 0


def thread_items(world: World, scope: Scope, thread_id: str) -> dict[str, dict[str, Any]]:
    """The items of a conversation, without what is of the moment: fences, numbers to come, connections."""
    items = {}
    for item in world.items():
        if item["PK"] == partition(scope, thread_id) and not item["SK"].startswith(("LOG#", "LIVE#")):
            moment = ("fence", "next_seq", "last_seq", "live_changes", "watchers") if item["SK"] == "THREAD" else ()
            items[item["SK"]] = {name: value for name, value in item.items() if name not in moment}
    return items


async def test_a_conversation_comes_back_with_everything_that_it_had(drill: Drill) -> None:
    world = drill.world
    thread_id = await conversation(world, ADA)
    await complete_workflow(world, thread_id)
    location = await at_desk(world, ADA, thread_id)
    await world.stores.erasure.note_upload(ADA, thread_id)
    world.s3.put_object(Bucket=world.bucket, Key=f"acme/{thread_id}/files/file_2", Body=b"mine")
    await drill.remember()
    before, elsewhere = thread_items(world, ADA, thread_id), list_related(world, thread_id)
    files = {key: body(world, key) for key in list_keys(world, thread_id)}
    assert len(files) >= 3

    drill.lose(*{item["PK"] for item in list_related(world, thread_id)}, partition(ADA, thread_id))
    for key in files:
        world.s3.delete_object(Bucket=world.bucket, Key=key)
    done = await drill.restore(Choice("acme", thread_id))
    assert done.conversations == {"restored": 1}
    assert thread_items(world, ADA, thread_id) == before
    assert list_related(world, thread_id) == elsewhere
    assert {key: body(world, key) for key in list_keys(world, thread_id)} == files
    assert [thread.id for thread in await world.stores.desk_places.threads(ADA, location.desk_id, limit=9)] == [
        thread_id
    ]
    verified = await drill.verify()
    assert (verified.changes, verified.lost_messages, verified.lost_bodies) == (0, 0, 0)


def list_related(world: World, thread_id: str) -> list[dict[str, Any]]:
    """The items of a conversation in other partitions."""
    items = [item for item in world.items() if thread_id in repr(item) and not item["PK"].endswith(thread_id)]
    items += [item for item in world.items() if item["PK"] == keys.owner(thread_id)["PK"]]
    return sorted((item for item in items if "~AUDIT" not in item["PK"]), key=repr)


def list_keys(world: World, thread_id: str) -> list[str]:
    contents = world.s3.list_objects_v2(Bucket=world.bucket, Prefix=f"acme/{thread_id}/").get("Contents", [])
    return [content["Key"] for content in contents]


def body(world: World, key: str) -> bytes:
    return world.s3.get_object(Bucket=world.bucket, Key=key)["Body"].read()


@given(lost=st.sets(st.integers(0, 40), min_size=1))
@settings(
    max_examples=8, phases=[Phase.explicit, Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_whatever_history_is_lost_comes_back_and_nothing_else_changes(drill: Drill, lost: set[int]) -> None:
    world, thread_id = drill.world, new_thread_id()
    for number in range(3):
        await world.say(ADA, thread_id, f"Question {number}")
    await drill.remember()
    before = thread_items(world, ADA, thread_id)
    for number, sort in enumerate(sorted(before)):
        if number in lost:
            drill.lose(partition(ADA, thread_id), prefix=sort)
    await drill.restore(Choice("acme", thread_id))
    assert thread_items(world, ADA, thread_id) == before


async def test_a_conversation_that_has_gone_on_keeps_what_is_newer_and_gets_back_what_is_lost(drill: Drill) -> None:
    world, thread_id = drill.world, new_thread_id()
    await world.say(ADA, thread_id, "First")
    await drill.remember()
    await world.say(ADA, thread_id, "Second")
    assert drill.lose(partition(ADA, thread_id), prefix="MSG#000000000000") == 1
    done = await drill.restore()
    assert done.conversations == {"completed": 1}
    assert await drill.texts(ADA, thread_id) == ["First", "Hello there.", "Second", "Hello there."]


async def test_it_is_taken_back_only_by_choice_and_then_goes_on_from_there(drill: Drill) -> None:
    world, thread_id = drill.world, new_thread_id()
    await world.say(ADA, thread_id, "First", "m1")
    await drill.remember()
    await world.say(ADA, thread_id, "Second", "m2")
    seen = (await world.stores.store.get_thread(ADA, thread_id)).last_seq
    assert (await drill.restore()).conversations == {"gone on": 1}
    taken_back = await drill.restore(Choice("acme", thread_id, replaces=True))
    assert taken_back.conversations == {"replaced": 1}
    assert await drill.texts(ADA, thread_id) == ["First", "Hello there."]
    # A page that has seen the second answer gets the conversation as it is now.
    thread = await world.stores.store.get_thread(ADA, thread_id)
    replay = await world.harness.replays.replay_after(ADA, thread, seen)
    assert replay.snapshot is not None
    assert "Second" not in str(replay.snapshot.body)
    await world.say(ADA, thread_id, "Second", "m2")
    assert await drill.texts(ADA, thread_id) == ["First", "Hello there.", "Second", "Hello there."]


async def test_feedback_that_may_have_been_withdrawn_comes_back_only_by_choice(drill: Drill) -> None:
    world, thread_id = drill.world, new_thread_id()
    await world.say(ADA, thread_id, "First")
    thread = await world.stores.store.get_thread(ADA, thread_id)
    await world.stores.feedback.put(ADA, thread, Feedback("a1", 1, "r1", Rating.DOWN, "Bad", world.clock.now()))
    await drill.remember()
    await world.stores.feedback.withdraw(ADA, thread, 1)
    left_out = await drill.restore()
    assert (left_out.conversations, left_out.removable) == ({"unchanged": 1}, {"feedback": 1})
    assert (await drill.restore(Choice(includes_removed=True))).items == {"feedback": 1}


async def test_changed_messages_are_reported_and_replaced_only_by_choice(drill: Drill) -> None:
    world, thread_id = drill.world, new_thread_id()
    await world.say(ADA, thread_id, "First")
    await drill.remember()
    key = keys.message(ADA, thread_id, 0)
    await world.table.update(key, "SET tokens = :wrong", {":wrong": 99}, condition="attribute_exists(PK)")
    remaining = await drill.restore()
    assert (remaining.conversations, remaining.differing, remaining.changes) == ({"differs": 1}, 1, 0)
    assert (await drill.restore(Choice("acme", replaces=True))).conversations == {"replaced": 1}
    assert (await drill.restore()).conversations == {"unchanged": 1}


async def test_half_a_conversation_is_never_seen_and_a_repetition_finishes_it(drill: Drill) -> None:
    world, thread_id = drill.world, new_thread_id()
    await world.say(ADA, thread_id, "First")
    await drill.remember()
    drill.lose(partition(ADA, thread_id))
    put, writes = Table.put, 0

    async def fail_later(table: Table, item: Any, **options: Any) -> None:
        nonlocal writes
        writes += 1
        if writes > 2:
            raise StoreUnavailable
        await put(table, item, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Table, "put", fail_later)
        with pytest.raises(StoreUnavailable):
            await drill.restore()
    with pytest.raises(ThreadUnavailable):
        await world.say(ADA, thread_id, "Are you there?")
    assert (await drill.restore()).conversations == {"restored": 1}
    assert await drill.texts(ADA, thread_id) == ["First", "Hello there."]


async def test_a_worker_from_before_the_loss_commits_nothing_into_it(drill: Drill) -> None:
    world, thread_id = drill.world, new_thread_id()
    await world.say(ADA, thread_id, "First")
    await drill.remember()
    late = await world.stores.acquire(thread_id, scope=ADA, message_id="m9", run_id="r9")
    drill.lose(partition(ADA, thread_id))
    await drill.restore()
    with pytest.raises(LeaseLost):
        await world.stores.commit(late, make_answer(late, "late"))
    assert await drill.texts(ADA, thread_id) == ["First", "Hello there."]


async def test_a_conversation_with_a_run_in_progress_is_not_replaced(drill: Drill) -> None:
    world, thread_id = drill.world, new_thread_id()
    await world.say(ADA, thread_id, "First")
    await drill.remember()
    await world.say(ADA, thread_id, "Second")
    await world.stores.acquire(thread_id, scope=ADA, message_id="m9", run_id="r9")
    assert (await drill.restore(Choice("acme", replaces=True))).conversations == {"busy": 1}


async def test_a_run_that_was_in_progress_then_is_left_out_and_its_message_taken_again(drill: Drill) -> None:
    world, thread_id = drill.world, new_thread_id()
    await world.say(ADA, thread_id, "First")
    lease = await world.stores.acquire(thread_id, scope=ADA, message_id="m2", run_id="r2")
    await world.stores.store.open_turn(lease, turn(lease))
    await world.stores.store.put_message(lease, make_question(lease, "Second"))
    await drill.remember()
    drill.lose(partition(ADA, thread_id))
    await drill.restore()
    assert await drill.texts(ADA, thread_id) == ["First", "Hello there."]
    await world.say(ADA, thread_id, "Second", "m2")
    assert (await drill.texts(ADA, thread_id))[2:] == ["Second", "Hello there."]


async def test_an_id_that_another_tenant_has_taken_stays_theirs(drill: Drill) -> None:
    world, thread_id, stranger = drill.world, new_thread_id(), Scope("globex", "eve")
    await world.say(ADA, thread_id, "First")
    await drill.remember()
    drill.lose(partition(ADA, thread_id), keys.owner(thread_id)["PK"])
    await world.say(stranger, thread_id, "Mine")
    before = world.items()
    assert (await drill.restore()).conversations == {"taken": 1}
    assert world.items() == before


async def test_one_tenant_is_restored_and_no_other_is_touched(drill: Drill) -> None:
    world, mine, other = drill.world, new_thread_id(), new_thread_id()
    stranger = Scope("acme2", "eve")  # whose name begins with the other's
    await world.say(ADA, mine, "First")
    await world.say(stranger, other, "First")
    await drill.remember()
    drill.lose(partition(ADA, mine), partition(stranger, other))
    assert (await drill.restore(Choice("acme"))).conversations == {"restored": 1}
    assert [item for item in world.items() if item["PK"].startswith("acme2#") and "~AUDIT" not in item["PK"]] == []
    assert (await drill.restore()).conversations == {"restored": 1, "unchanged": 1}


class TestForgotten:
    async def test_a_user_who_was_forgotten_since_stays_away_with_all_their_items(self, drill: Drill) -> None:
        world, thread_id, other = drill.world, await conversation(drill.world, ADA), new_thread_id()
        await world.say(BOB, other, "I stay")
        procedure_thread, _ = await capture(world, ADA, "Secret", of=ProcedureScope.AGENT)
        boss = Scope("acme", "boss", frozenset({Permission.THREAD_READ_ALL, Permission.PII_READ}))
        await world.say(ADA, thread_id, "Copy this", "m-copied")
        thread = await world.stores.store.get_thread(boss, thread_id)
        copy = await world.app.sandboxes.make(boss, thread, "m-copied", is_answered=True)
        await world.stores.time_zones.put(ADA, "Europe/Vienna")
        await drill.remember()
        request = await world.app.privacy.forget_calls.forget_user(ADA, "me")
        await world.run(ADA, request.id)
        drill.lose(partition(BOB, other))
        before = world.versions()
        done = await drill.restore(Choice(includes_removed=True))
        assert done.conversations == {"restored": 1, "forgotten": 3}
        assert done.forgotten_records >= 1
        traces = traces_of(world, SECRET, thread_id, procedure_thread, copy.id, "Vienna")
        assert {item["SK"].partition("#")[0] for item in traces} <= {"AUDIT", "REQUEST"}
        assert world.versions() == before
        # The proof: the same request again finds nothing.
        again = await world.app.privacy.forget_calls.forget_user(ADA, "me")
        await world.run(ADA, again.id)
        proof = await world.app.privacy.forget_calls.get(ADA, again.id)
        assert (proof.status, proof.residue, proof.counts.get("messages", 0)) == (ForgetStatus.COMPLETED, {}, 0)

    async def test_a_request_is_repeated_with_its_own_cut_off(self, drill: Drill) -> None:
        world = drill.world
        await world.say(ADA, new_thread_id(), "Forget this")
        await drill.remember()
        request = await world.app.privacy.forget_calls.forget_user(ADA, "me")
        await world.run(ADA, request.id)
        world.clock.advance(3600)
        later = new_thread_id()
        await world.say(ADA, later, "I am back")
        await drill.restore()
        forgotten = ForgottenSince(drill.source, world.table, drill.at, world.clock)
        repeated = RepeatedRequests(world.table, forgotten, world.forgettings, world.clock)
        assert await repeated.repeat(["acme"], EVERYTHING) == 1
        started = world.forgettings.started[-1]
        assert started != request.id
        await world.run(ADA, started)
        done = await world.app.privacy.forget_calls.get(ADA, started)
        assert done.status is ForgetStatus.COMPLETED
        assert await drill.texts(ADA, later) == ["I am back", "Hello there."]

    async def test_a_conversation_that_is_too_old_by_the_retention_of_today_stays_away(self, drill: Drill) -> None:
        world, thread_id = drill.world, new_thread_id()
        await world.say(ADA, thread_id, "First")
        await drill.remember()
        drill.lose(partition(ADA, thread_id))
        await world.stores.retentions.put(ADA, Retention(threads=1))
        world.clock.advance(2 * 86400)
        assert (await drill.restore()).conversations == {"forgotten": 1}

    async def test_a_tenant_that_was_removed_since_stays_away(self, drill: Drill) -> None:
        world, theirs, others = drill.world, new_thread_id(), new_thread_id()
        await world.say(ADA, theirs, "First")
        await world.say(Scope("globex", "bob"), others, "First")
        await world.stores.retentions.put(ADA, Retention(audit=30))
        await drill.remember()
        drill.lose(*(item["PK"] for item in world.items()))
        await remove_tenant(world.harness)
        done = await drill.restore(Choice(includes_removed=True))
        assert done.removed_partitions > 0
        assert done.conversations == {"restored": 1}
        assert [item for item in world.items() if item["PK"].startswith("acme#") and item["SK"] != "REMOVAL"] == []
        assert await drill.texts(Scope("globex", "bob"), others) == ["First", "Hello there."]

    async def test_a_request_during_the_restore_is_not_undone(self, drill: Drill) -> None:
        world, thread_id = drill.world, new_thread_id()
        await world.say(ADA, thread_id, "First")
        await drill.remember()
        await world.say(ADA, thread_id, "Second")
        claimed = asyncio.Event()
        put_if = LiveWrites.put_if

        async def wait_for_forgetting(writes: LiveWrites, *arguments: Any) -> bool:
            request = await world.app.privacy.forget_calls.forget_user(ADA, "me")
            await world.app.privacy.forgetting.sweep(ADA, request.id, seconds=60)
            claimed.set()
            return await put_if(writes, *arguments)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(LiveWrites, "put_if", wait_for_forgetting)
            done = await drill.restore(Choice("acme", replaces=True))
        assert claimed.is_set()
        assert done.conversations == {"forgotten": 1}
        with pytest.raises(ThreadUnavailable):
            await world.stores.store.get_thread(ADA, thread_id)


class TestRecords:
    async def test_what_nobody_removes_comes_back_and_the_rest_by_choice(self, drill: Drill) -> None:
        world, due = drill.world, DueHarness(stores=drill.world.stores)
        due.ada = ADA
        await due.remind("Stand up.", id="s1", at="2040-03-02T12:00Z")
        await world.stores.time_zones.put(ADA, "Europe/Vienna")
        await drill.remember()
        drill.lose(keys.user_listing(ADA))
        done = await drill.restore()
        assert (done.items, done.removable) == ({"time zones": 1}, {"schedules": 1})
        chosen = await drill.restore(Choice(includes_removed=True))
        assert chosen.items == {"schedules": 1}
        [schedule] = await world.stores.schedules.of_user(ADA)
        assert schedule.text == "Stand up."

    @pytest.mark.parametrize(("past_due", "runs"), [(PastDue.RUN, 1), (PastDue.SKIP, 0)])
    async def test_what_was_due_since_begins_once_late_or_not_at_all(
        self, drill: Drill, past_due: PastDue, runs: int
    ) -> None:
        due = DueHarness(stores=drill.world.stores)
        due.ada = ADA
        await due.say("m1", "Hello")
        await due.remind("Once.", id="s1", at="2040-03-01T13:00Z")
        await due.remind("Daily.", id="s2", at=None, rule="FREQ=DAILY;BYHOUR=13;BYMINUTE=30", time_zone="UTC")
        await drill.remember()
        drill.lose(keys.user_listing(ADA))
        due.clock.advance(36 * 3600)
        await drill.restore(Choice(includes_removed=True, past_due=past_due))
        await due.pass_time(minutes=1)
        await due.pass_time(minutes=1)
        texts = [message.text for message in await due.messages() if message.begun_by is not None]
        assert sorted(texts) == ["Daily.", "Once."][: 2 * runs]
        schedules = {schedule.id: schedule for schedule in await drill.world.stores.schedules.of_user(ADA)}
        assert schedules["s2"].next_at == datetime(2040, 3, 3, 13, 30, tzinfo=UTC)

    async def test_a_replaced_schedule_is_not_late_if_what_was_due_is_skipped(self, drill: Drill) -> None:
        due = DueHarness(stores=drill.world.stores)
        due.ada = ADA
        await due.say("m1", "Hello")
        rule = {"at": None, "rule": "FREQ=DAILY;BYHOUR=13;BYMINUTE=30", "time_zone": "UTC"}
        await due.remind("Then.", id="s1", **rule)
        await drill.remember()
        await due.app.self_started.schedule_making.change(ADA, "s1", ScheduleChange(text="Now."))
        due.clock.advance(36 * 3600)
        done = await drill.restore(Choice(replaces=True, past_due=PastDue.SKIP))
        assert done.replaced >= 1
        [schedule] = await drill.world.stores.schedules.of_user(ADA)
        assert (schedule.text, schedule.next_at) == ("Then.", datetime(2040, 3, 3, 13, 30, tzinfo=UTC))

    @pytest.mark.parametrize("is_lost", [False, True])
    async def test_a_request_to_forget_that_was_running_then_does_not_run_again(
        self, drill: Drill, *, is_lost: bool
    ) -> None:
        world = drill.world
        await world.say(ADA, new_thread_id(), "Forget this")
        request = await world.app.privacy.forget_calls.forget_user(ADA, "me")
        await drill.remember()
        await world.run(ADA, request.id)
        if is_lost:
            drill.lose("acme#~FORGET")
        done = await drill.restore(Choice(replaces=True, includes_removed=True))
        assert (done.differing, done.contradicting) == ((0, 1) if is_lost else (1, 0))
        assert [item for item in world.items() if item.get("request_status") == "running"] == []

    async def test_a_reminder_that_has_come_does_not_come_again(self, drill: Drill) -> None:
        due = DueHarness(stores=drill.world.stores)
        due.ada = ADA
        await due.say("m1", "Hello")
        await due.remind("Once.", id="s1", at="2040-03-01T13:00Z")
        await drill.remember()
        await due.pass_time(hours=2)
        drill.lose(keys.user_listing(ADA))
        await drill.restore(Choice(includes_removed=True))
        await due.pass_time(minutes=2)
        assert [message.text for message in await due.messages()].count("Once.") == 1

    async def test_a_documents_file_comes_back_without_an_event_that_it_was_written(self, drill: Drill) -> None:
        world, key = drill.world, "acme/~documents/assistant/d1/1/original"
        await world.table.put({"PK": "acme#~DOCUMENTS#assistant", "SK": "DOC#d1", "revision": 1, "body": b"packed"})
        written = world.s3.put_object(Bucket=world.bucket, Key=key, Body=b"text")["VersionId"]
        await drill.remember()
        drill.lose("acme#~DOCUMENTS#assistant")
        world.s3.delete_object(Bucket=world.bucket, Key=key)
        done = await drill.restore(Choice("acme", includes_removed=True))
        assert (done.items, done.files) == ({"documents": 1}, 1)
        # The version is the one that was written then: S3 announces new ones only.
        assert world.s3.get_object(Bucket=world.bucket, Key=key)["VersionId"] == written

    async def test_a_procedure_that_was_retired_since_is_not_approved_again(self, drill: Drill) -> None:
        world = drill.world
        _, procedure_id = await capture(world, ADA, "Used", ProcedureAction.APPROVE, of=ProcedureScope.AGENT)
        await drill.remember()
        decision = ProcedureDecision(ProcedureAction.RETIRE, "admin", world.clock.now())
        await world.stores.procedures.decide(ADA, "assistant", procedure_id, 1, decision)
        await drill.restore(Choice(includes_removed=True))
        assert await world.stores.procedures.approved(ADA, "assistant", of=ProcedureScope.AGENT) == []


async def test_an_interrupted_restore_goes_on_where_it_was(drill: Drill) -> None:
    world, thread_ids = drill.world, [new_thread_id() for _ in range(4)]
    for thread_id in thread_ids:
        await world.say(ADA, thread_id, "First")
    await drill.remember()
    drill.lose(*(partition(ADA, thread_id) for thread_id in thread_ids))
    positions: list[tuple[int, Position]] = []

    async def stop(counts: Counts, position: Position | None) -> None:
        if position is not None and counts.conversations.total() == 2:
            positions.append((counts.conversations.total(), position))
            raise StoreUnavailable

    first = Counts()
    with pytest.raises(StoreUnavailable):
        await drill.restore(report=stop, size=1, counts=first)
    [(number, position)] = positions
    rest = await drill.restore(after=position, size=1, counts=first)
    assert (number, rest.conversations) == (2, {"restored": 4})
    assert [await drill.texts(ADA, thread_id) for thread_id in thread_ids] == [["First", "Hello there."]] * 4
