"""A transaction on procedures whose answer was lost has happened once, however often it is repeated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from baton.domain.errors import StoreUnavailable
from baton.domain.memory.private_skill import SkillAction
from baton.domain.memory.procedure import REVIEWED, Procedure, ProcedureAction
from tests.contracts.private_skills import MINE, change, save, share
from tests.contracts.procedures import ID, SOURCE, add_approved, decide, procedure, statuses
from tests.contracts.stores import Stores
from tests.integration.store.conftest import Engine
from tests.integration.store.lost_answers import lose_answers

TRANSACTION = "TransactWriteItems"
PENDING, APPROVED, REJECTED, RETIRED = REVIEWED


@pytest.fixture
def engine(on_dynamodb_local: Engine) -> Engine:
    """The engine whose transactions are isolated."""
    return on_dynamodb_local


@pytest.fixture
def stores(engine: Engine) -> Stores:
    return engine.stores()


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize(
    "expected", [{}, {"source": SOURCE}, {"edited_from": 1}], ids=["pending", "of a source", "changed"]
)
async def test_a_version_is_saved_once(
    engine: Engine, stores: Stores, expected: dict[str, object], answered: bool
) -> None:
    await stores.procedures.put(stores.ada, procedure(stores, "The first."))
    edited_from = 1 if "edited_from" in expected else None
    fields = {name: value for name, value in expected.items() if name != "edited_from"}
    new_procedure: Procedure = replace(procedure(stores, "The second."), **fields)  # type: ignore[arg-type]
    with lose_answers(engine.table.client, TRANSACTION, every=not answered) as losses:
        if answered:
            await stores.procedures.put(stores.ada, new_procedure, edited_from=edited_from)
        else:
            with pytest.raises(StoreUnavailable):
                await stores.procedures.put(stores.ada, new_procedure, edited_from=edited_from)
    assert losses.count
    again = await stores.procedures.put(stores.ada, new_procedure, edited_from=edited_from)
    assert again.version == 2
    first = RETIRED if edited_from else PENDING
    assert await statuses(stores) == [new_procedure.status, first]


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("action", ProcedureAction)
async def test_a_decision_is_taken_once(
    engine: Engine, stores: Stores, action: ProcedureAction, answered: bool
) -> None:
    await stores.procedures.put(stores.ada, procedure(stores, "The first."))
    await decide(stores, 1, ProcedureAction.APPROVE)
    await stores.procedures.put(stores.ada, procedure(stores, "The second."))
    with lose_answers(engine.table.client, TRANSACTION, every=not answered):
        if answered:
            await decide(stores, 2, action)
        else:
            with pytest.raises(StoreUnavailable):
                await decide(stores, 2, action)
    decided = await decide(stores, 2, action)
    is_approved = action is ProcedureAction.APPROVE
    assert await statuses(stores) == [decided.status, RETIRED if is_approved else APPROVED]
    [used] = await stores.procedures.approved(stores.ada, "assistant")
    assert used.version == (2 if is_approved else 1)


async def test_a_use_is_counted_once(engine: Engine, stores: Stores) -> None:
    await stores.procedures.put(stores.ada, procedure(stores))
    for every in (False, True):
        with lose_answers(engine.table.client, TRANSACTION, every=every):
            try:
                await stores.procedures.record_use(stores.ada, "assistant", ID, 1, run_id=f"r{every}", went_well=True)
            except StoreUnavailable:
                assert every
        assert not await stores.procedures.record_use(
            stores.ada, "assistant", ID, 1, run_id=f"r{every}", went_well=True
        )
    result = await stores.procedures.get(stores.ada, "assistant", ID)
    assert result is not None
    assert (result.used, result.went_well) == (2, 2)


@pytest.mark.parametrize("answered", [True, False])
async def test_a_private_skill_is_saved_once_whose_answer_was_lost(
    engine: Engine, stores: Stores, answered: bool
) -> None:
    await save(stores)
    with lose_answers(engine.table.client, "PutItem", every=not answered) as losses:
        if answered:
            await save(stores, "Better.", made_of="w-2")
        else:
            with pytest.raises(StoreUnavailable):
                await save(stores, "Better.", made_of="w-2")
    assert losses.count
    again = await save(stores, "In other words.", made_of="w-2")
    assert (again.version, again.draft.description) == (2, "Better.")


@pytest.mark.parametrize("answered", [True, False])
async def test_a_skill_is_shared_once_whose_answer_was_lost(engine: Engine, stores: Stores, answered: bool) -> None:
    former = await add_approved(stores.procedures, stores.bob, procedure(stores, "The administrator's."))
    await save(stores)
    await change(stores, SkillAction.OFFER)
    with lose_answers(engine.table.client, TRANSACTION, every=not answered) as losses:
        if answered:
            await share(stores, replaces=former.version)
        else:
            with pytest.raises(StoreUnavailable):
                await share(stores, replaces=former.version)
    assert losses.count
    for _ in range(2):
        shared, replaced = await share(stores, replaces=former.version)
        assert (shared.version, replaced) == (2, 1)
    assert await statuses(stores) == [APPROVED, RETIRED]
    assert await stores.procedures.approved(stores.ada, "assistant") == [shared]


async def test_a_removal_of_a_private_skill_whose_answer_was_lost_has_happened(engine: Engine, stores: Stores) -> None:
    await save(stores)
    with lose_answers(engine.table.client, "PutItem", every=False) as losses:
        removed = await stores.private_skills.remove(stores.ada, "assistant", MINE, 1)
    assert losses.count
    assert removed.status is RETIRED
    assert await stores.private_skills.get(stores.ada, "assistant", MINE) is None
