"""A worker that is killed at any call of a port while it completes a workflow: the tool's work is done once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from baton.composition.app import build
from baton.domain.errors import StoreUnavailable
from baton.ports.threads.handoffs import CompletedQuery
from baton.threads.requests.parsing import make_decision_request
from tests.faults.capture.dying import Dying
from tests.harness.desk import Desk
from tests.harness.handoffs import advance
from tests.harness.state_checks import active, check_handoffs
from tests.harness.wiki import yes

PORTS = ("store", "records", "workflows", "handoffs", "audit", "log", "live", "tools")


class Killed(Dying):
    """From one call of a port on, no other one succeeds."""

    async def pass_on(self, name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        self.calls += 1
        self.noted.append(name)
        is_dead = self.at is not None and self.calls >= self.at
        if is_dead and not (self.after and self.calls == self.at):
            raise StoreUnavailable
        result = await call()
        if is_dead:
            raise StoreUnavailable
        return result


async def start_completion(*, is_approved: bool) -> tuple[Desk, list[Any]]:
    """Return a desk at the last step of its workflow, and the decisions that complete it."""
    desk = Desk(requires_approval=is_approved)
    turn = await desk.reach_the_end(advance("DONE") if is_approved else "Shall I really?")
    return desk, [yes(interrupt) for interrupt in turn.last["outcome"].get("interrupts", ())]


async def complete(desk: Desk, decisions: list[Any], dying: Dying | None = None) -> None:
    """Complete the workflow, by a worker that may die, whether the workflow has waited for an approval or not."""
    harness, ports = desk.harness, desk.harness
    if dying is not None:
        ports = harness.with_ports(**{name: dying.wrap(getattr(harness, name)) for name in PORTS})
    harness.model.forget()
    harness.model.script(*([] if decisions else [advance("DONE")]), "It is number 1.", "It is number 1.")
    request = make_decision_request(harness.thread_id, decisions) if decisions else harness.request("m4", "Do it")
    await build(ports).turns.run(harness.ada, request, lambda event: None, seconds=20)


@pytest.mark.parametrize("is_approved", [False, True], ids=["at once", "approved"])
@pytest.mark.parametrize("after", [False, True], ids=["in front", "after"])
async def test_a_workflow_whose_worker_is_killed_at_any_call_is_completed_once(after: bool, is_approved: bool) -> None:
    whole = Killed()
    await complete(*await start_completion(is_approved=is_approved), whole)
    assert {"call", "put_call", "put", "commit"} <= set(whole.noted)
    for at in range(1, whole.calls + 1):
        desk, decisions = await start_completion(is_approved=is_approved)
        harness, dying = desk.harness, Killed(at, after)
        with suppress(StoreUnavailable):  # or after its commit, which it does not notice
            await complete(desk, decisions, dying)
        harness.clock.advance(60)
        await complete(desk, decisions)

        what = f"killed at {at}, {dying.noted[at - 1]}"
        assert len({call.context.idempotency_key for call in harness.tools.calls}) == 1, what
        assert len(desk.files) == 1 or dying.noted[at - 1] in ("call", "ensure", "renew", "put_call"), what
        assert [record.succeeded for record in await desk.records()] == [True], what
        page, _ = await harness.workflows.list_completed(harness.ada, CompletedQuery("ada"), limit=5, cursor=None)
        assert [(done.state, done.data["ASK"], done.result) for done, _ in page] == [
            ("DONE", {"name": "Box"}, f"Number {len(desk.files)}.")
        ], what
        assert await active(harness) == "assistant", what
        assert await harness.workflows.list_unfinished(harness.ada) == [], what
        await check_handoffs(harness)
