"""Rules for the end of every case, whatever happened on the way."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from baton.domain.errors import Interrupted
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.run_end import OutcomeType
from baton.ports.threads.leases import LeaseBusy, LeaseRequest
from tests.faults.screen import Screen, conversation_of, difference

if TYPE_CHECKING:
    from tests.faults.generated.case import Case
    from tests.faults.generated.clients import Client


LEASE_ENDS_AFTER = 240
"""Virtual seconds: a lease by a clock that is a minute ahead, looked at after clocks were put back a few times."""


async def violations_of(case: Case, clients: list[Client]) -> list[str]:
    """Every violation of: store = what clients reconstruct = exactly one turn per message id."""
    store, scope = case.product.store, case.scope
    thread = await store.get_thread(scope, case.thread_id)
    messages: list[StoredMessage] = []
    before: int | None = None
    while True:
        page = await store.read_messages(scope, thread, limit=100, before=before)
        messages = [*page.messages, *messages]
        before = page.next_before
        if before is None:
            break
    result = _of_store(case, messages)
    if thread.run is not None:
        result.append(f"a run is left over: {thread.run}")
    if not await _is_free(case):
        result.append("an orphan lease")
    fresh = Screen()
    replay = await case.product.replays.replay_after(scope, thread, 0)
    fresh.resumed_to = replay.last_seq
    for event in (*((replay.snapshot,) if replay.snapshot else ()), *replay.events):
        fresh.take(event.body)
    if fresh.gap:
        result.append("a new client finds a gap")
    stored = conversation_of(m.as_ag_ui().model_dump(by_alias=True, mode="json") for m in messages)
    for name, screen in (("a fresh client", fresh), *((client.name, client.screen) for client in clients)):
        if screen.conversation != stored:
            result.append(f"{name} shows {screen.conversation}, the store has {stored}")
        result += [f"{name}: {problem}" for problem in screen.problems()]
        if not screen.base and not fresh.base and screen.events != fresh.events:
            odd = _difference(screen, fresh)
            result.append(f"{name} has other events than a fresh client: {odd}")
    return result


async def _is_free(case: Case) -> bool:
    """Check that the thread can be leased, at the latest after a lease that was never released has expired."""
    store = case.product.store
    for _ in range(LEASE_ENDS_AFTER):
        try:
            lease = await store.acquire(case.scope, LeaseRequest(case.thread_id))
        except LeaseBusy:
            await asyncio.sleep(1)
        else:
            await store.release(lease)
            return lease.thread.run is None
    return False


def _of_store(case: Case, messages: list[StoredMessage]) -> list[str]:
    results: list[str] = []
    if [message.ordinal for message in messages] != list(range(len(messages))):
        results.append(f"ordinals are not whole: {[message.ordinal for message in messages]}")
    questions = [message for message in messages if message.role is Role.USER]
    counts = Counter(message.id for message in questions)
    if counts != Counter(case.questions.keys()):
        results.append(f"questions {sorted(case.questions)}, stored {sorted(counts.elements())}")
    meant = {m.id: (case.questions.get(m.id), case.contested.get(m.id)) for m in questions}
    results += [f"{m.id} was stored with other content" for m in questions if m.text not in meant[m.id]]
    for index, message in enumerate(messages):
        is_last = index + 1 == len(messages) or messages[index + 1].role is Role.USER
        if is_last != (message.end is not None):
            results.append(f"message {index} ends a run, or does not: {message}")
        cancelled = message.end is not None and message.end.outcome is OutcomeType.CANCELLED
        if cancelled and message.run_id not in case.monitor.to_be_stopped:
            results.append(f"message {index} was cancelled, and nobody wanted that")
        if message.end is not None and message.end.error_code == Interrupted.code and not case.plan.interrupts_runs:
            results.append(f"message {index} was given up, and nobody died")
        if message.role is Role.ASSISTANT:
            question = messages[index - 1]
            if question.role is not Role.USER or question.run_id != message.run_id:
                results.append(f"answer {index} follows no question of its run")
            elif not f"{question.id}:".startswith(message.text[: len(question.id) + 1]):
                results.append(f"answer {index} answers something else: {message.text!r}")
    return results


def _difference(one: Screen, other: Screen) -> list[str]:
    return [
        f"{seq}: {difference(one.events.get(seq), other.events.get(seq))}"
        for seq in sorted(one.events.keys() | other.events.keys())
        if one.events.get(seq) != other.events.get(seq)
    ][:3]
