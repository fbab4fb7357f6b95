"""Many write to one item at the same time, as authors do who change different agents: all of them succeed."""

from __future__ import annotations

import asyncio

import pytest

from baton.composition.app import build
from baton.domain.errors import StoreUnavailable
from baton.domain.memory.procedure import Procedure, parse_draft
from baton.domain.tenants.identity import Scope
from tests.harness.harness import Harness
from tests.integration.store.conftest import Engine

AT_ONCE = 20


@pytest.mark.parametrize("workers", [1, AT_ONCE])
async def test_authors_of_different_agents(on_dynamodb_local: Engine, workers: int) -> None:
    """In one worker, and each in another one, as Lambda runs them. The list of a tenant's agents is one item."""
    stores = on_dynamodb_local.stores()
    ports = Harness().with_ports(agent_definitions=stores.agent_definitions)
    apps = [build(ports) for _ in range(workers)]
    author = Scope(stores.ada.tenant_id, "author", frozenset({"agent:write"}))

    async def put(number: int) -> int:
        values = {"name": "Tutor", "description": "Helps.", "system_prompt": f"Help {number}."}
        change = await apps[number % workers].agent_editing.put(author, f"tutor-{number}", values, as_served=False)
        return change.version

    results = await asyncio.gather(*(put(number) for number in range(AT_ONCE)), return_exceptions=True)
    assert [item for item in results if isinstance(item, StoreUnavailable)] == []
    assert results == [1] * AT_ONCE
    listed = await stores.agent_definitions.list(author)
    assert set(listed.present) == {f"tutor-{number}" for number in range(AT_ONCE)}


async def test_versions_of_one_procedure(on_dynamodb_local: Engine) -> None:
    stores = on_dynamodb_local.stores()

    async def put(number: int) -> int:
        steps = [{"text": f"Post {number}."}]
        draft = parse_draft({"name": "Post", "description": "Posts it.", "triggers": ["post it"], "steps": steps})
        procedure = Procedure(draft, stores.ada.tenant_id, "assistant", "ada", stores.clock.now())
        return (await stores.procedures.put(stores.ada, procedure)).version

    results = await asyncio.gather(*(put(number) for number in range(AT_ONCE)))
    assert sorted(results) == list(range(1, AT_ONCE + 1))
