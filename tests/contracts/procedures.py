"""Procedures: what every store does about them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import pytest

from baton.domain.errors import InvalidRequest, ProcedureChanged, UnknownProcedure
from baton.domain.memory.procedure import (
    REVIEWED,
    Procedure,
    ProcedureAction,
    ProcedureDecision,
    ProcedureDraft,
    ProcedureScope,
    ProcedureSource,
    ProcedureStatus,
    ProcedureStep,
)
from baton.domain.tenants.identity import Scope
from baton.ports.memory.procedures import ProcedureStore
from tests.contracts.stores import Stores

DRAFT = ProcedureDraft(
    name="Slack Alert",
    description="Posts an alert, größer 😀.",
    triggers=("send slack alert", r"alert (me|us)"),
    steps=(ProcedureStep("Ask for the channel.", "skip if the user named one"), ProcedureStep("Post it.")),
    allowed_tools=("slack_post",),
)
ID = "slack-alert"
SOURCE = ProcedureSource("t-1", run_id="r-1", message_ids=("m-1", "m-2"))
PENDING, APPROVED, REJECTED, RETIRED = REVIEWED


class ProcedureContract:
    """Versions of procedures, decisions on them, and how often they were used."""

    async def test_a_procedure_comes_back_whole_with_its_version(self, stores: Stores) -> None:
        stored = await stores.procedures.put(stores.ada, procedure(stores, source=SOURCE))
        assert stored == replace(procedure(stores, source=SOURCE), version=1)
        assert await stores.procedures.get(stores.ada, "assistant", ID) == stored
        assert await stores.procedures.get(stores.bob, "assistant", ID, version=1) == stored

    async def test_every_change_makes_a_version_and_all_are_kept(self, stores: Stores) -> None:
        for number in range(1, 13):
            stored = await stores.procedures.put(stores.ada, procedure(stores, f"Number {number}."))
            assert stored.version == number
        newest = await stores.procedures.get(stores.ada, "assistant", ID)
        third = await stores.procedures.get(stores.ada, "assistant", ID, version=3)
        assert newest is not None
        assert newest.version == 12
        assert third is not None
        assert third.draft.description == "Number 3."
        page = await stores.procedures.versions(stores.ada, "assistant", ID, limit=5)
        assert [item.version for item in page] == [12, 11, 10, 9, 8]
        page = await stores.procedures.versions(stores.ada, "assistant", ID, limit=9, before=4)
        assert [item.version for item in page] == [3, 2, 1]

    async def test_saving_the_same_again_makes_no_version(self, stores: Stores) -> None:
        first = await stores.procedures.put(stores.ada, procedure(stores))
        stores.clock.advance(60)
        assert await stores.procedures.put(stores.bob, replace(procedure(stores), created_by="bob")) == first
        assert await stores.procedures.get(stores.ada, "assistant", ID, version=2) is None

    async def test_one_source_makes_one_version(self, stores: Stores) -> None:
        first = await stores.procedures.put(stores.ada, procedure(stores, source=SOURCE))
        await decide(stores, 1, ProcedureAction.REJECT)
        again = await stores.procedures.put(
            stores.ada, procedure(stores, "In other words.", source=replace(SOURCE, message_ids=("m-1",)))
        )
        assert (again.version, again.draft, again.status) == (first.version, first.draft, REJECTED)
        other = await stores.procedures.put(
            stores.ada, procedure(stores, "In other words.", source=replace(SOURCE, run_id="r-2"))
        )
        assert other.version == 2

    async def test_only_an_approved_version_is_in_use(self, stores: Stores) -> None:
        await stores.procedures.put(stores.ada, procedure(stores))
        assert await stores.procedures.approved(stores.ada, "assistant") == []
        stores.clock.advance(1)
        approved = await decide(stores, 1, ProcedureAction.APPROVE)
        assert (approved.status, approved.decided_by, approved.decided_at) == (APPROVED, "bob", stores.clock.now())
        assert await stores.procedures.approved(stores.bob, "assistant") == [approved]
        assert await stores.procedures.get(stores.ada, "assistant", ID) == approved
        await stores.procedures.put(stores.ada, procedure(stores, "Better."))
        assert await stores.procedures.get_approved(stores.bob, "assistant", ID) == approved
        assert await stores.procedures.get_approved(stores.stranger, "assistant", ID) is None

    async def test_approving_a_version_retires_the_former(self, stores: Stores) -> None:
        for number in (1, 2, 3):
            await stores.procedures.put(stores.ada, procedure(stores, f"Number {number}."))
        for number in (2, 1):
            await decide(stores, number, ProcedureAction.APPROVE)
            [approved] = await stores.procedures.approved(stores.ada, "assistant")
            assert approved.version == number
        assert await statuses(stores) == [PENDING, RETIRED, APPROVED]

    async def test_saving_approves_nothing(self, stores: Stores) -> None:
        await stores.procedures.put(stores.ada, procedure(stores))
        for expected in (
            {"status": APPROVED, "decided_by": "ada", "decided_at": stores.clock.now()},
            {"status": APPROVED, "source": SOURCE},
            {"scope": ProcedureScope.USER},
            {"scope": ProcedureScope.USER, "status": ProcedureStatus.PRIVATE},
        ):
            with pytest.raises(ValueError, match="saved as pending"):
                await stores.procedures.put(stores.bob, procedure(stores, **expected))  # type: ignore[arg-type]
        waiting = replace(procedure(stores), created_by="bob")
        for source in (None, SOURCE):  # the content of a version that waits
            same = await stores.procedures.put(stores.bob, replace(waiting, source=source))
            assert (same.version, same.status, same.created_by) == (1, PENDING, "ada")
        assert await stores.procedures.approved(stores.ada, "assistant") == []
        assert await statuses(stores) == [PENDING]

    async def test_what_was_rejected_or_retired_is_not_in_use_and_stays_so(self, stores: Stores) -> None:
        await stores.procedures.put(stores.ada, procedure(stores))
        rejected = await decide(stores, 1, ProcedureAction.REJECT, reason="Too vague.")
        assert (rejected.status, rejected.reason) == (REJECTED, "Too vague.")
        await stores.procedures.put(stores.ada, procedure(stores, "Better."))
        await decide(stores, 2, ProcedureAction.APPROVE)
        await decide(stores, 2, ProcedureAction.RETIRE)
        assert await stores.procedures.approved(stores.ada, "assistant") == []
        for number in (1, 2):
            with pytest.raises(ProcedureChanged):
                await decide(stores, number, ProcedureAction.APPROVE)
        assert await statuses(stores) == [RETIRED, REJECTED]
        again = await stores.procedures.put(stores.ada, procedure(stores))
        assert (again.version, again.status) == (3, PENDING)

    async def test_a_changed_pending_version_is_replaced_by_its_change(self, stores: Stores) -> None:
        await stores.procedures.put(stores.ada, procedure(stores))
        second = await stores.procedures.put(stores.bob, procedure(stores, "Better."), edited_from=1)
        assert (second.version, second.status) == (2, PENDING)
        assert await statuses(stores) == [PENDING, RETIRED]
        await decide(stores, 2, ProcedureAction.APPROVE)
        for _ in range(2):
            third = await stores.procedures.put(stores.bob, procedure(stores, "Best."), edited_from=2)
            assert third.version == 3
        assert await statuses(stores) == [PENDING, APPROVED, RETIRED]
        assert [item.version for item in await stores.procedures.approved(stores.ada, "assistant")] == [2]

    async def test_what_does_not_exist_is_not_decided_on(self, stores: Stores) -> None:
        await stores.procedures.put(stores.ada, procedure(stores))
        for procedure_id, version in ((ID, 2), ("slack", 1), (f"tenant.{ID}", 1)):
            with pytest.raises(UnknownProcedure):
                await stores.procedures.decide(
                    stores.ada, "assistant", procedure_id, version, decision(stores, ProcedureAction.APPROVE)
                )
        assert await stores.procedures.get(stores.ada, "assistant", "slack") is None
        assert await stores.procedures.versions(stores.ada, "assistant", "slack", limit=5) == []
        assert await stores.procedures.approved(stores.ada, "assistant") == []

    async def test_every_agent_and_tenant_has_procedures_of_its_own(self, stores: Stores) -> None:
        for agent_id in ("assistant", "assistant-2"):
            await stores.procedures.put(stores.ada, replace(procedure(stores), agent_id=agent_id))
            await decide(stores, 1, ProcedureAction.APPROVE, agent_id=agent_id)
            [one] = await stores.procedures.approved(stores.ada, agent_id)
            assert one.agent_id == agent_id
        assert await stores.procedures.approved(stores.ada, "assist") == []
        assert await stores.procedures.approved(stores.stranger, "assistant") == []
        assert await stores.procedures.get(stores.stranger, "assistant", ID) is None
        assert await list_ids(stores, stores.stranger, REVIEWED) == []
        with pytest.raises(UnknownProcedure):
            await stores.procedures.decide(
                stores.stranger, "assistant", ID, 1, decision(stores, ProcedureAction.RETIRE)
            )

    async def test_the_tenants_procedures_are_those_of_all_its_agents(self, stores: Stores) -> None:
        shared = await stores.procedures.put(stores.ada, procedure(stores, scope=ProcedureScope.TENANT))
        own = await stores.procedures.put(stores.ada, procedure(stores))
        assert (shared.id, own.id) == (f"tenant.{ID}", ID)
        assert await stores.procedures.get(stores.ada, "assistant-2", shared.id) == shared
        await stores.procedures.decide(
            stores.ada, "assistant-2", shared.id, 1, decision(stores, ProcedureAction.APPROVE)
        )
        of_tenant = await stores.procedures.approved(stores.ada, "", of=ProcedureScope.TENANT)
        assert [(episode.id, episode.agent_id) for episode in of_tenant] == [(shared.id, "assistant")]
        assert await stores.procedures.approved(stores.ada, "assistant") == []
        assert await stores.procedures.approved(stores.stranger, "", of=ProcedureScope.TENANT) == []

    async def test_versions_are_listed_by_status_newest_first_in_pages(self, stores: Stores) -> None:
        for number in range(5):
            stores.clock.advance(1)
            await stores.procedures.put(stores.ada, procedure(stores, name=f"Alert {number}"))
        stores.clock.advance(1)
        await stores.procedures.put(stores.ada, procedure(stores, name="All", scope=ProcedureScope.TENANT))
        await decide(stores, 1, ProcedureAction.APPROVE, procedure_id="alert-0")
        await decide(stores, 1, ProcedureAction.REJECT, procedure_id="alert-2")
        waiting = ["tenant.all", "alert-4", "alert-3", "alert-1"]
        for limit in (1, 3, 4, 9):
            assert await list_ids(stores, stores.bob, [PENDING], limit=limit) == waiting
        assert await list_ids(stores, stores.bob, [REJECTED, APPROVED]) == ["alert-2", "alert-0"]
        assert await list_ids(stores, stores.bob, [RETIRED]) == []
        assert await list_ids(stores, stores.bob, [PENDING], agent_id="assistant-2") == ["tenant.all"]
        assert sorted(await list_ids(stores, stores.bob, REVIEWED, limit=2)) == sorted([*waiting, "alert-0", "alert-2"])
        with pytest.raises(InvalidRequest):
            await stores.procedures.of_agents(stores.ada, ["assistant"], [PENDING], limit=5, cursor="x")

    async def test_versions_of_several_agents_are_one_list(self, stores: Stores) -> None:
        agents = ["assistant", "assistant-2", "assistant-3"]
        for agent_id in agents:  # at the same moment, under the same name
            await stores.procedures.put(stores.ada, replace(procedure(stores), agent_id=agent_id))
        await stores.procedures.put(stores.ada, procedure(stores, name="All", scope=ProcedureScope.TENANT))
        for limit in (1, 2, 3, 5):
            results: list[str] = []
            cursor: str | None = None
            while True:
                page, cursor = await stores.procedures.of_agents(
                    stores.bob, agents[:2], [PENDING], limit=limit, cursor=cursor
                )
                results += [f"{item.agent_id}/{item.id}" for item in page]
                if cursor is None:
                    break
            assert sorted(results) == [f"assistant-2/{ID}", f"assistant/{ID}", "assistant/tenant.all"]
        assert await stores.procedures.of_agents(stores.stranger, agents, [PENDING], limit=5, cursor=None) == ([], None)

    async def test_a_decision_is_refused_if_the_version_is_not_as_it_was_read(self, stores: Stores) -> None:
        await stores.procedures.put(stores.ada, procedure(stores))
        retire = decision(stores, ProcedureAction.RETIRE)
        await decide(stores, 1, ProcedureAction.APPROVE)
        with pytest.raises(ProcedureChanged):  # a draft was to be withdrawn, and is in use meanwhile
            await stores.procedures.decide(stores.ada, "assistant", ID, 1, retire, read_as=PENDING)
        assert [item.version for item in await stores.procedures.approved(stores.ada, "assistant")] == [1]
        for _ in range(2):
            retired = await stores.procedures.decide(stores.ada, "assistant", ID, 1, retire, read_as=APPROVED)
            assert retired.status is RETIRED

    async def test_a_run_counts_once_as_a_use_of_a_version(self, stores: Stores) -> None:
        await stores.procedures.put(stores.ada, procedure(stores))
        await stores.procedures.put(stores.ada, procedure(stores, "Better."))
        await decide(stores, 1, ProcedureAction.APPROVE)
        counted = [
            await stores.procedures.record_use(stores.ada, "assistant", ID, 1, run_id=run_id, went_well=went_well)
            for run_id, went_well in (("r1", True), ("r2", False), ("r1", True), ("r1", False))
        ]
        assert counted == [True, True, False, False]
        first = await stores.procedures.get(stores.ada, "assistant", ID, version=1)
        assert first is not None
        assert (first.used, first.went_well) == (2, 1)
        second = await stores.procedures.get(stores.ada, "assistant", ID)
        assert second is not None
        assert (second.used, second.went_well) == (0, 0)
        [visible], _ = await stores.procedures.of_agents(stores.ada, ["assistant"], [APPROVED], limit=5, cursor=None)
        assert (visible.used, visible.went_well) == (2, 1)


class ProcedureRaces:
    """Rules for several writers at once."""

    async def test_versions_saved_at_once_each_get_a_number(self, stores: Stores) -> None:
        stored = await asyncio.gather(
            *(stores.procedures.put(stores.ada, procedure(stores, f"By {number}.")) for number in range(3))
        )
        assert sorted(one.version for one in stored) == [1, 2, 3]

    async def test_one_source_makes_one_version_at_once(self, stores: Stores) -> None:
        new_procedure = await asyncio.gather(
            *(stores.procedures.put(stores.ada, procedure(stores, f"By {index}.", source=SOURCE)) for index in range(3))
        )
        assert len({(item.version, item.draft) for item in new_procedure}) == 1

    async def test_of_versions_approved_at_once_one_remains(self, stores: Stores) -> None:
        for number in (1, 2, 3):
            await stores.procedures.put(stores.ada, procedure(stores, f"Number {number}."))
        await asyncio.gather(*(decide(stores, number, ProcedureAction.APPROVE) for number in (1, 2, 3)))
        [approved] = await stores.procedures.approved(stores.ada, "assistant")
        results = await statuses(stores)
        assert sorted(results) == sorted([APPROVED, RETIRED, RETIRED])
        assert results[3 - approved.version] is APPROVED

    async def test_of_two_deciders_the_second_learns_of_it_and_a_repetition_does_not_matter(
        self, stores: Stores
    ) -> None:
        await stores.procedures.put(stores.ada, procedure(stores))
        both = await asyncio.gather(
            decide(stores, 1, ProcedureAction.APPROVE, by="bob"),
            decide(stores, 1, ProcedureAction.REJECT, by="ada"),
            return_exceptions=True,
        )
        assert [type(item) for item in both if isinstance(item, Exception)] == [ProcedureChanged]
        [decided] = [item for item in both if isinstance(item, Procedure)]
        assert decided.decided_by is not None
        action = ProcedureAction.APPROVE if decided.status is APPROVED else ProcedureAction.REJECT
        stores.clock.advance(60)
        assert await decide(stores, 1, action, by=decided.decided_by) == decided
        with pytest.raises(ProcedureChanged):
            await decide(stores, 1, action, by="somebody else")

    async def test_a_change_of_what_has_changed_is_refused(self, stores: Stores) -> None:
        await stores.procedures.put(stores.ada, procedure(stores))
        both = await asyncio.gather(
            *(
                stores.procedures.put(stores.ada, procedure(stores, f"By {index}."), edited_from=1)
                for index in range(2)
            ),
            return_exceptions=True,
        )
        assert [type(item) for item in both if isinstance(item, Exception)] == [ProcedureChanged]
        assert await statuses(stores) == [PENDING, RETIRED]
        with pytest.raises(UnknownProcedure):
            await stores.procedures.put(
                stores.ada, replace(procedure(stores), agent_id="assistant-2", status=PENDING), edited_from=1
            )

    @pytest.mark.parametrize("read_as", [None, PENDING])
    async def test_an_approval_and_a_change_at_once_never_approve_what_nobody_has_read(
        self, stores: Stores, read_as: ProcedureStatus | None
    ) -> None:
        await stores.procedures.put(stores.ada, procedure(stores))
        changed = procedure(stores, "Changed meanwhile.", created_by="ada")
        approval = decision(stores, ProcedureAction.APPROVE)
        both = await asyncio.gather(
            stores.procedures.decide(stores.bob, "assistant", ID, 1, approval, read_as=read_as),
            stores.procedures.put(stores.ada, changed, edited_from=1),
            return_exceptions=True,
        )
        approved = await stores.procedures.approved(stores.ada, "assistant")
        assert [item.draft.description for item in approved] in ([], [DRAFT.description])
        assert await statuses(stores) == [PENDING, APPROVED if approved else RETIRED]
        assert [type(item) for item in both if isinstance(item, Exception)] == ([] if approved else [ProcedureChanged])

    async def test_uses_at_once_are_all_counted(self, stores: Stores) -> None:
        await stores.procedures.put(stores.ada, procedure(stores))
        uses = [f"r{number % 4}" for number in range(8)]
        counted = await asyncio.gather(
            *(stores.procedures.record_use(stores.ada, "assistant", ID, 1, run_id=use, went_well=True) for use in uses)
        )
        assert counted.count(True) == 4
        result = await stores.procedures.get(stores.ada, "assistant", ID)
        assert result is not None
        assert (result.used, result.went_well) == (4, 4)

    async def test_a_pending_version_goes_with_the_conversation_that_it_was_made_in(self, stores: Stores) -> None:
        await stores.procedures.put(stores.ada, procedure(stores))
        new_procedure = await stores.procedures.put(stores.ada, procedure(stores, "Of a thread.", source=SOURCE))
        for _ in range(2):
            await stores.procedures.forget_source(stores.stranger, "assistant", ID, new_procedure.version)
        assert await stores.procedures.get(stores.ada, "assistant", ID) == new_procedure
        for _ in range(2):
            await stores.procedures.forget_source(stores.ada, "assistant", ID, new_procedure.version)
        newest = await stores.procedures.get(stores.ada, "assistant", ID)
        assert newest is not None
        assert newest.draft.description == DRAFT.description
        assert await list_ids(stores, stores.ada, [PENDING]) == [ID]
        again = await stores.procedures.put(stores.ada, procedure(stores, "Of a thread.", source=SOURCE))
        assert again.draft.description == "Of a thread."

    @pytest.mark.parametrize("action", list(ProcedureAction))
    async def test_a_decided_version_stays_without_its_source(self, stores: Stores, action: ProcedureAction) -> None:
        await stores.procedures.put(stores.ada, procedure(stores, source=SOURCE))
        decided = await decide(stores, 1, action)
        for _ in range(2):
            await stores.procedures.forget_source(stores.ada, "assistant", ID, 1)
        stored = await stores.procedures.get(stores.ada, "assistant", ID)
        assert stored == replace(decided, source=None)
        in_use = await stores.procedures.approved(stores.ada, "assistant")
        assert in_use == ([stored] if action is ProcedureAction.APPROVE else [])


def procedure(
    stores: Stores,
    description: str = DRAFT.description,
    *,
    name: str = DRAFT.name,
    source: ProcedureSource | None = None,
    **fields: object,
) -> Procedure:
    """A procedure that is not saved yet."""
    draft = replace(DRAFT, name=name, description=description)
    new_procedure = Procedure(draft, stores.tenant, "assistant", "ada", stores.clock.now(), source=source)
    return replace(new_procedure, **fields)  # type: ignore[arg-type]


async def add_approved(procedures: ProcedureStore, scope: Scope, value: Procedure) -> Procedure:
    """Save a procedure and approve it."""
    stored = await procedures.put(scope, value)
    approval = ProcedureDecision(ProcedureAction.APPROVE, "bob", value.created_at)
    return await procedures.decide(scope, stored.agent_id, stored.id, stored.version, approval)


def decision(
    stores: Stores, action: ProcedureAction, *, by: str = "bob", reason: str | None = None
) -> ProcedureDecision:
    return ProcedureDecision(action, by, stores.clock.now(), reason)


async def decide(
    stores: Stores,
    version: int,
    action: ProcedureAction,
    *,
    by: str = "bob",
    reason: str | None = None,
    agent_id: str = "assistant",
    procedure_id: str = ID,
) -> Procedure:
    """Decide on a version."""
    new_decision = decision(stores, action, by=by, reason=reason)
    return await stores.procedures.decide(stores.ada, agent_id, procedure_id, version, new_decision)


async def statuses(stores: Stores) -> list[ProcedureStatus]:
    """The statuses of all versions, newest first."""
    return [version.status for version in await stores.procedures.versions(stores.ada, "assistant", ID, limit=100)]


async def list_ids(
    stores: Stores, scope: Scope, expected: Iterable[ProcedureStatus], *, limit: int = 50, agent_id: str = "assistant"
) -> list[str]:
    """The ids of all pages of a list."""
    results: list[str] = []
    cursor: str | None = None
    while True:
        page, cursor = await stores.procedures.of_agents(scope, [agent_id], list(expected), limit=limit, cursor=cursor)
        results += [item.id for item in page]
        if cursor is None:
            return results
