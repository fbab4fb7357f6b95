"""Data of users in every store, for tests of forgetting and of restoring."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from baton.domain.desks.desk_session import DeskSession
from baton.domain.documents.search import IndexDocument, IndexedText, IndexName
from baton.domain.handoffs.workflow import Workflow, WorkflowStatus
from baton.domain.memory.capture import Capture, CaptureRef, CaptureStep
from baton.domain.memory.procedure import Procedure, ProcedureAction, ProcedureDecision, ProcedureScope, ProcedureSource
from baton.domain.runs.run_step import RunStep, StepKind
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.domain.threads.feedback import Feedback, Rating
from baton.domain.threads.push_config import Line, PushConfig
from baton.domain.threads.thread import ConversationState
from baton.ports.threads.desks import DeskPlace
from baton.ports.threads.leases import Commit, LeaseRequest
from baton.threads.leases import give_back
from tests.contracts.procedures import DRAFT
from tests.contracts.stores import new_thread_id
from tests.integration.privacy.conftest import World

SECRET = "my-password-is-hunter2"
LONG = SECRET + secrets.token_hex(320_000)
"""Too large for the table even when it is packed."""
ADA = Scope("acme", "ada")


def traces_of(world: World, *words: str) -> list[dict[str, Any]]:
    """The items that hold one of the words anywhere."""
    return [item for item in world.items() if any(word in repr(item) for word in words)]


async def conversation(world: World, scope: Scope, *, text: str = SECRET) -> str:
    """A conversation with everything that one may leave in the stores. Returns its thread."""
    thread_id = new_thread_id()
    await world.say(scope, thread_id, text)
    await world.say(scope, thread_id, LONG)
    lease = await world.stores.store.acquire(scope, LeaseRequest(thread_id))
    for step_id, value in (("s1", SECRET), ("s2", LONG)):
        step = RunStep(step_id, "m1", "r1", "1", StepKind.MODEL, "digest", world.clock.now(), value)
        await world.stores.records.put_step(lease, step, first_ordinal=0)
    await give_back(world.stores.store, lease)
    config = PushConfig("m1", "c1", scope.user_id, "https://a.example/", Line.OLDER, world.clock.now(), token=SECRET)
    await world.stores.push_configs.put(scope, thread_id, config)
    await world.stores.store.rename(scope, thread_id, SECRET)
    thread = await world.stores.store.get_thread(scope, thread_id)
    feedback = Feedback("a1", 1, "r1", Rating.DOWN, SECRET, world.clock.now())
    await world.stores.feedback.put(scope, thread, feedback)
    await world.stores.live.attach(scope, thread_id, f"c-{thread_id}", world.clock.now() + timedelta(hours=1))
    await world.stores.live.request_cancel(scope, thread_id, "r-later")
    await world.stores.audit.record(
        scope, "handoff", thread_id=thread_id, outcome="denied", detail={"reason": SECRET, "runId": "r1"}
    )
    for name in ("files/file_1", "inspector/r1"):
        for body in (b"one", SECRET.encode()):
            world.s3.put_object(Bucket=world.bucket, Key=f"{scope.tenant_id}/{thread_id}/{name}", Body=body)
        world.s3.delete_object(Bucket=world.bucket, Key=f"{scope.tenant_id}/{thread_id}/{name}")
    await index(world, scope, thread_id)
    return thread_id


async def index(world: World, scope: Scope, thread_id: str | None, *, source_id: str | None = None) -> None:
    document = IndexDocument(
        id=f"{thread_id}-{source_id}",
        source_id=source_id or f"e-{thread_id}",
        kind="message",
        views={"turn": IndexedText(SECRET)},
        at=world.clock.now(),
        thread_id=thread_id,
    )
    await world.search.put(scope, IndexName.EPISODES, [document])


async def at_desk(world: World, scope: Scope, thread_id: str) -> DeskPlace:
    """Bring a conversation to a desk. Returns its place there."""
    now = world.clock.now()
    location = DeskPlace("support", thread_id, now)
    lease = await world.stores.store.acquire(scope, LeaseRequest(thread_id))
    await world.stores.desk_places.add(scope, location)
    state = ConversationState("support", desk=DeskSession(now, now))
    next_ordinal, last_seq = lease.thread.next_ordinal, lease.thread.last_seq
    commit = Commit(next_ordinal=next_ordinal, last_seq=last_seq, usage=Usage(), tokens=0, conversation=state)
    await world.stores.store.commit(lease, commit)
    return location


async def complete_workflow(world: World, thread_id: str) -> None:
    """A workflow that ada has completed in a thread."""
    now = world.clock.now()
    workflow = Workflow(
        id=f"w-{thread_id}",
        agent_id="assistant",
        name="Slack alert",
        state="DONE",
        data={"ASK": {"name": "Slack"}},
        thread_id=thread_id,
        version="1",
        updated_at=now,
        expires_at=now + timedelta(days=3),
        status=WorkflowStatus.COMPLETED,
    )
    lease = await world.stores.store.acquire(ADA, LeaseRequest(thread_id))
    await world.stores.workflows.put(lease, workflow)
    await world.stores.store.release(lease)


async def capture(
    world: World, scope: Scope, name: str, action: ProcedureAction | None = None, *, of: ProcedureScope
) -> tuple[str, str]:
    """A procedure of a separate conversation, decided on or not; the thread's id and the procedure's."""
    thread_id = new_thread_id()
    await world.say(scope, thread_id, "Do it.")
    await world.stores.capture_records.save(
        scope, Capture(CaptureRef(thread_id, "assistant", 0, 2), done=CaptureStep.STORE)
    )
    source = ProcedureSource(thread_id, run_id=f"r-{thread_id}", message_ids=("m-secret",))
    draft = DRAFT.__class__(name, DRAFT.description, DRAFT.triggers, DRAFT.steps)
    procedure = await world.stores.procedures.put(
        scope, Procedure(draft, "acme", "assistant", "capture", world.clock.now(), scope=of, source=source)
    )
    if action is not None:
        decision = ProcedureDecision(action, "admin", world.clock.now())
        await world.stores.procedures.decide(scope, "assistant", procedure.id, procedure.version, decision)
    return thread_id, procedure.id
