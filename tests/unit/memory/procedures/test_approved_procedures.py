"""Approved procedures are read once a minute, and belong to one tenant."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from baton.domain.memory.procedure import Procedure, ProcedureDraft, ProcedureScope, ProcedureStep
from baton.domain.tenants.identity import Scope
from baton.memory.procedures import approved_procedures
from baton.memory.procedures.approved_procedures import FRESH
from tests.contracts.procedures import add_approved
from tests.harness.harness import Harness

ADA, EVE = Scope("acme", "ada"), Scope("acme-2", "ada")


class World:
    def __init__(self) -> None:
        harness = Harness()
        self.clock, self.store, self.approved = harness.clock, harness.procedures, harness.app.procedures.approved
        self.skills = harness.private_skills
        self.reads = 0
        read = self.store.approved

        async def count_read(*arguments: Any, **options: Any) -> Sequence[Procedure]:
            self.reads += 1
            return await read(*arguments, **options)

        self.store.approved = count_read  # type: ignore[method-assign]

    async def teach(self, scope: Scope, agent_id: str, name: str, of: ProcedureScope = ProcedureScope.AGENT) -> None:
        draft = ProcedureDraft(name, "Does it.", ("do it",), (ProcedureStep("Do it."),))
        await add_approved(self.store, scope, Procedure(draft, "", agent_id, "ada", self.clock.now(), scope=of))

    async def make(self, scope: Scope, agent_id: str, name: str) -> None:
        draft = ProcedureDraft(name, "Does it.", ("do it",), (ProcedureStep("Do it."),))
        procedure = Procedure(draft, "", agent_id, scope.user_id, self.clock.now())
        await self.skills.save(scope, procedure, made_of=f"workflow of {name}")

    async def names(self, scope: Scope, agent_id: str = "assistant", **when: object) -> list[str]:
        result = await self.approved.of(scope, agent_id, **when)  # type: ignore[arg-type]
        return [procedure.draft.name for procedure in result.procedures]


async def test_an_agent_follows_its_own_and_the_tenants_procedures() -> None:
    world = World()
    await world.teach(ADA, "assistant", "own")
    await world.teach(ADA, "assistant", "all", ProcedureScope.TENANT)
    await world.teach(ADA, "other", "others")
    await world.teach(EVE, "assistant", "foreign")
    await world.teach(EVE, "assistant", "foreign to all", ProcedureScope.TENANT)
    assert await world.names(ADA) == ["own", "all"]
    assert await world.names(ADA, "other") == ["others", "all"]
    assert await world.names(EVE) == ["foreign", "foreign to all"]
    assert await world.names(Scope("acm", "ada")) == []


async def test_they_are_read_once_a_minute_and_indexed_when_they_have_changed() -> None:
    world = World()
    await world.teach(ADA, "assistant", "own")
    first = await world.approved.of(ADA, "assistant")
    assert world.reads == 2
    for _ in range(5):
        assert await world.approved.of(ADA, "assistant") is first
    assert world.reads == 2
    world.clock.advance(FRESH.total_seconds())
    assert await world.approved.of(ADA, "assistant") is first
    assert world.reads == 4
    await world.teach(ADA, "assistant", "new")
    world.clock.advance(FRESH.total_seconds())
    assert await world.names(ADA) == ["new", "own"]


async def test_a_new_session_reads_the_agents_own_again_and_nothing_else() -> None:
    world = World()
    assert await world.names(ADA) == []
    await world.teach(ADA, "assistant", "own")
    world.clock.advance(1)
    assert await world.names(ADA) == []
    assert await world.names(ADA, since=world.clock.now() - timedelta(milliseconds=1)) == ["own"]
    assert world.reads == 3


async def test_private_skills_are_followed_for_their_maker_only() -> None:
    world = World()
    await world.teach(ADA, "assistant", "own")
    await world.make(ADA, "assistant", "mine")
    await world.make(ADA, "librarian", "for another agent")
    assert await world.names(ADA) == ["own", "mine"]
    for other in (Scope("acme", "bob"), Scope("globex", "ada")):
        assert "mine" not in await world.names(other)
    assert await world.approved.of(ADA, "assistant") is not await world.approved.of(Scope("acme", "bob"), "assistant")


async def test_private_skills_are_cached_for_a_minute_and_read_again_since_a_time() -> None:
    world = World()
    assert await world.names(ADA) == []
    await world.make(ADA, "assistant", "mine")
    world.clock.advance(1)
    assert await world.names(ADA) == []
    assert await world.names(ADA, since=world.clock.now() - timedelta(milliseconds=1)) == ["mine"]
    assert await world.names(ADA) == ["mine"]
    await world.skills.remove(ADA, "assistant", "user.mine", 1)
    assert await world.names(ADA) == ["mine"]
    world.clock.advance(FRESH.total_seconds())
    assert await world.names(ADA) == []


async def test_many_users_push_each_other_out_and_not_the_agents_procedures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approved_procedures, "MAX_USERS", 2)
    world = World()
    await world.teach(ADA, "assistant", "own")
    for number in range(5):
        assert await world.names(Scope("acme", f"user-{number}")) == ["own"]
    assert world.reads == 2
