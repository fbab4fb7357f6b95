"""Lists of agents and evaluations of a later release, which may have further values, are read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from baton.adapters.dynamodb import agent_keys
from baton.adapters.dynamodb.bodies import pack, unpack
from baton.adapters.dynamodb.tenants.evaluations import DynamoEvaluations
from baton.domain.agents.agent_version import AgentEntry, AgentList, Candidate, EntryChange
from baton.domain.times import from_millis
from tests.contracts.evaluations import make_evaluation
from tests.integration.store.conftest import Engine

ROLLOUT: dict[str, Any] = {
    "candidate": [9, 70, 10],
    "withdrawn": [[4, 5]],
    "neverInForce": [[7, 8]],
    "changed": [1_700_000_000_001, "ada", "shared"],
}
"""The rollout of an agent as this release stores it."""


def lengthen(value: Any) -> Any:
    """Return a stored value with a further value in each of its lists, except in lists of lists."""
    if not isinstance(value, list):
        return value
    is_nested = all(isinstance(part, list) for part in value)
    return [lengthen(part) for part in value] if is_nested else [*value, {"later": True}]


async def test_agents_of_a_later_release_are_read(on_dynamodb_local: Engine) -> None:
    stores, table = on_dynamodb_local.stores(), on_dynamodb_local.table
    entry = AgentEntry(
        6,
        90,
        candidate=Candidate(9, 70, 10),
        withdrawn=((4, 5),),
        never_in_force=((7, 8),),
        changed=EntryChange(from_millis(1_700_000_000_001), "ada", "shared"),
    )
    listed = AgentList(1, {"tutor": entry})
    await stores.agent_definitions.put(stores.ada, listed)
    item = await table.get(agent_keys.agent_list(stores.ada))
    assert item is not None
    assert unpack(item["rollouts"])["tutor"] == ROLLOUT
    later = {name: lengthen(value) for name, value in ROLLOUT.items()} | {"later": 1}
    sizes = {agent_id: lengthen(value) for agent_id, value in unpack(item["body"]).items()}
    await table.put(item | {"body": pack(sizes), "rollouts": pack({"tutor": later})})
    stored = await stores.agent_definitions.list(stores.ada)
    assert (stored, stored.entries["tutor"].changed) == (listed, entry.changed)


async def test_evaluations_of_a_later_release_are_read(on_dynamodb_local: Engine) -> None:
    stores, table = on_dynamodb_local.stores(), on_dynamodb_local.table
    evaluations = DynamoEvaluations(table, stores.clock)
    evaluation = make_evaluation(stores.clock)
    await evaluations.put(stores.ada, replace(evaluation, details={}))
    item = await table.get(agent_keys.evaluation(stores.ada, evaluation.entry.id))
    assert item is not None
    later = unpack(item["body"]) | {"later": True}
    await table.put(item | {"body": pack(later), "later": 1})
    assert (await evaluations.page(stores.ada, limit=1, cursor=None)) == ([evaluation.entry], None)
