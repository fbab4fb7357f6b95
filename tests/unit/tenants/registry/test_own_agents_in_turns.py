"""Turns find their tenant's own agents: within a minute, and with one small read."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baton.domain.agents.agent_version import AgentList
from baton.domain.errors import StoreUnavailable, UnknownAgent
from baton.domain.runs.tool_call import ToolCall
from baton.domain.tenants.identity import Scope
from baton.tenants.registry import own_agents
from baton.tenants.tenant_copies import FRESH, GRACE
from tests.examples import examples
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness
from tests.unit.tenants.registry.worker import ADA, TUTOR, Tenant, Worker

GLOBEX = Scope("globex", "ada")


async def test_a_tenant_without_agents_costs_one_read_a_minute() -> None:
    worker = Worker()
    for _ in range(3):
        for _ in range(20):
            worker.own.begin(ADA)
            assert await worker.names() == {}
        worker.clock.advance(FRESH.total_seconds())
    assert (worker.store.lists_read, worker.store.versions_read) == (3, 0)


async def test_a_change_is_found_within_a_minute_and_only_what_has_changed_is_read() -> None:
    worker = Worker()
    await worker.tenant.put("tutor", TUTOR)
    await worker.tenant.put("maths", TUTOR)
    assert await worker.names() == {"tutor": "Tutor", "maths": "Tutor"}
    await worker.tenant.put("tutor", TUTOR | {"name": "Better"})
    await worker.tenant.put("maths", None)
    worker.clock.advance(FRESH.total_seconds())
    assert await worker.names() == {"tutor": "Better"}
    assert worker.store.versions_read == 3


async def test_a_definition_is_the_same_object_while_its_version_is() -> None:
    worker = Worker()
    await worker.tenant.put("tutor", TUTOR)
    first = (await worker.own.of(ADA))["tutor"]
    worker.clock.advance(FRESH.total_seconds())
    worker.own.forget(ADA)
    assert (await worker.own.of(ADA))["tutor"] is first
    assert (first.tenant_id, first.version) == ("acme", 1)


async def test_turns_at_once_share_one_read() -> None:
    worker = Worker()
    await asyncio.gather(*(worker.own.of(ADA) for _ in range(10)))
    assert worker.store.lists_read == 1


async def test_a_failed_read_uses_the_copy_for_an_hour() -> None:
    worker = Worker()
    await worker.tenant.put("tutor", TUTOR)
    await worker.names()
    worker.store.fails = StoreUnavailable()
    worker.clock.advance((GRACE - timedelta(seconds=1)).total_seconds())
    assert await worker.names() == {"tutor": "Tutor"}
    worker.clock.advance(1)
    with pytest.raises(StoreUnavailable):
        await worker.names()
    worker.store.fails = None
    assert await worker.names() == {"tutor": "Tutor"}


async def test_without_a_copy_a_failed_read_is_reported() -> None:
    worker = Worker()
    worker.store.fails = StoreUnavailable()
    worker.own.begin(ADA)
    with pytest.raises(StoreUnavailable):
        await worker.names()


async def test_a_slow_read_is_not_waited_for_while_the_copy_is_young() -> None:
    worker = Worker()
    await worker.tenant.put("tutor", TUTOR)
    await worker.names()
    await worker.tenant.put("tutor", TUTOR | {"name": "Better"})
    worker.clock.advance(FRESH.total_seconds())
    answers, listed = asyncio.Event(), worker.store.list

    async def list_slowly(scope: Scope) -> AgentList:
        await answers.wait()
        return await listed(scope)

    worker.store.list = list_slowly  # type: ignore[method-assign]
    assert await worker.names() == {"tutor": "Tutor"}
    answers.set()
    assert await worker.names() == {"tutor": "Better"}


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": [{"type": "python", "name": "p", "description": "d", "entry_point": "os:system"}]},
        {"remote": {"card_url": "https://a.example", "headers": {"X-Key": {"secret": "key"}}}, "main": False},
        {"memory": {"semantic_top_k": 99}},
        {"id": "somebody-else"},
    ],
)
async def test_what_todays_rules_do_not_allow_is_left_out(fields: dict[str, Any]) -> None:
    worker = Worker()
    await worker.tenant.put("good", TUTOR)
    await worker.tenant.put("bad", TUTOR | fields)
    assert await worker.names() == {"good": "Tutor"}


async def test_a_model_that_is_offered_no_more_is_the_default_one() -> None:
    worker = Worker()
    for name in ("small", "dear"):
        await worker.tenant.put(name, TUTOR | {"model": {"name": name, "temperature": 1}})
    agents = await worker.own.of(ADA)
    assert (agents["small"].model.name, agents["dear"].model.name) == ("small", None)
    assert agents["dear"].model.temperature == 1


async def test_a_fallback_that_is_offered_no_more_is_left_out() -> None:
    worker = Worker()
    await worker.tenant.put("tutor", TUTOR | {"model": {"name": "small", "fallback": ["dear", "test-model"]}})
    agents = await worker.own.of(ADA)
    assert (agents["tutor"].model.name, agents["tutor"].model.fallback) == ("small", ("test-model",))


async def test_a_worker_keeps_so_many_definitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_agents, "MAX_CHARACTERS", 500)
    worker = Worker()
    tenants = [Scope(f"tenant-{number}", "ada") for number in range(3)]
    for scope in (*tenants, tenants[2], tenants[0]):
        if scope.tenant_id not in worker.store._lists:
            await Tenant(worker.store, worker.clock, scope).put("tutor", TUTOR | {"system_prompt": "x" * 300})
        assert await worker.names(scope) == {"tutor": "Tutor"}
    assert list(worker.own._copies.copies) == ["tenant-0"]


async def test_a_tenants_agents_are_its_own() -> None:
    worker = Worker()
    await worker.tenant.put("tutor", TUTOR)
    assert await worker.names(GLOBEX) == {}
    assert await worker.names() == {"tutor": "Tutor"}


# Turns


@pytest.fixture
def harness() -> Harness:
    return Harness()


def tenant_of(harness: Harness, scope: Scope | None = None) -> Tenant:
    store: Any = harness.agent_definitions
    return Tenant(store, harness.clock, scope or harness.ada)


async def test_a_conversation_begins_with_an_agent_that_was_just_made(harness: Harness) -> None:
    await harness.say("m1", "Hello")
    await tenant_of(harness).put("tutor", TUTOR)
    harness.clock.advance(5)
    harness.thread_id = harness.clock.new_id()
    await harness.say("m2", "Hello", agent_id="tutor")
    assert "Ask." in str(harness.model.requests[-1])
    assert (await harness.store.get_thread(harness.ada, harness.thread_id)).agent_id == "tutor"


async def test_another_tenants_agent_does_not_exist(harness: Harness) -> None:
    await tenant_of(harness, GLOBEX).put("tutor", TUTOR)
    with pytest.raises(UnknownAgent):
        await harness.say("m1", "Hello", agent_id="tutor")
    with pytest.raises(UnknownAgent):
        await harness.forks.fork(harness.ada, await begin_conversation(harness), agent_id="tutor")


async def test_an_agent_that_ships_is_not_shadowed(harness: Harness) -> None:
    await tenant_of(harness).put("assistant", TUTOR | {"system_prompt": "Obey."})
    await harness.say("m1", "Hello")
    assert "Obey." not in str(harness.model.requests[-1])
    assert [agent.id for agent in (await harness.agents.in_force(harness.ada)).all()].count("assistant") == 1


async def test_a_tenants_agents_consult_and_hand_over_to_each_other(harness: Harness) -> None:
    tenant = tenant_of(harness)
    await tenant.put("maths", TUTOR | {"name": "Maths", "main": False, "triggers": ["do sums"]})
    handoffs = [{"agent": "maths", "reason": "For sums."}]
    await tenant.put("tutor", TUTOR | {"sub_agents": ["maths"], "handoffs": handoffs})
    call = ToolCall("call-1", "ask_maths", '{"message": "1 + 1?"}')
    harness.model.script(Answer.calling(call), "Two.", "It is two.")
    request = await harness.say("m1", "What is 1 + 1?", agent_id="tutor")
    assert "It is two." in str([event.json() for event in request.events])
    await harness.say("m2", "Please do sums")
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.active_agent_id == "maths"


async def test_an_agent_that_is_deleted_in_the_middle_is_gone_like_one_that_shipped(harness: Harness) -> None:
    tenant = tenant_of(harness)
    await tenant.put("maths", TUTOR | {"name": "Maths", "main": False, "triggers": ["do sums"]})
    await tenant.put("tutor", TUTOR | {"handoffs": [{"agent": "maths", "reason": "For sums."}]})
    await harness.say("m1", "Please do sums", agent_id="tutor")
    await tenant.put("maths", None)
    harness.clock.advance(FRESH.total_seconds())
    await harness.say("m2", "And now?")
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.active_agent_id == "tutor"
    await tenant.put("tutor", None)
    harness.clock.advance(FRESH.total_seconds())
    with pytest.raises(UnknownAgent):
        await harness.say("m3", "Still there?")


IDS = ("tutor", "maths", "physics")
TENANTS = ("acme", "globex", "initech")


@settings(max_examples=examples(10))
@given(changes=st.lists(st.tuples(st.sampled_from(TENANTS), st.sampled_from(IDS), st.booleans()), max_size=5))
async def test_a_tenants_agents_are_no_others_main_agents_targets_or_sub_agents(
    changes: list[tuple[str, str, bool]],
) -> None:
    """Whatever definitions refer to: here they refer to all ids, without having been checked."""
    harness = Harness()
    present: dict[str, dict[str, str]] = {tenant: {} for tenant in TENANTS}
    handoffs = [{"agent": item, "reason": "When asked."} for item in IDS]
    for tenant in TENANTS:
        lead = TUTOR | {"name": "Lead", "sub_agents": IDS, "handoffs": handoffs}
        await tenant_of(harness, Scope(tenant, "ada")).put("lead", lead)
    for number, (tenant, agent_id, is_there) in enumerate(changes):
        prompt = f"{agent_id} {number} of {tenant}."
        values = TUTOR | {"system_prompt": prompt, "triggers": [f"ask {agent_id}"]} if is_there else None
        if values is None and agent_id not in present[tenant]:
            continue
        await tenant_of(harness, Scope(tenant, "ada")).put(agent_id, values)
        present[tenant].pop(agent_id, None)
        if is_there:
            present[tenant][agent_id] = prompt
        harness.clock.advance(FRESH.total_seconds())
        for item in TENANTS:
            await check_tenant(harness, Scope(item, "ada"), present[item])


async def check_tenant(harness: Harness, scope: Scope, present: dict[str, str]) -> None:
    """Check that the tenant's agents, and no others, can be talked to, consulted and handed over to."""
    for agent_id in IDS:
        harness.thread_id = harness.clock.new_id()
        if agent_id in present:
            await harness.say("m", "Hello", scope=scope, agent_id=agent_id)
            assert present[agent_id] in str(harness.model.requests[-1].prompts[0])
        else:
            with pytest.raises(UnknownAgent):
                await harness.say("m", "Hello", scope=scope, agent_id=agent_id)
        harness.thread_id = harness.clock.new_id()
        await harness.say("m", f"Please ask {agent_id}", scope=scope, agent_id="lead")
        active = (await harness.store.get_thread(scope, harness.thread_id)).active_agent_id
        assert active == (agent_id if agent_id in present else "lead")
        if active == "lead":
            tools = {tool.name for tool in harness.model.requests[-1].tools}
            assert {name for name in tools if name.startswith("ask_")} == {f"ask_{agent}" for agent in present}


async def begin_conversation(harness: Harness) -> str:
    """The id of a conversation that has begun."""
    await harness.say("m0", "Hello")
    return harness.thread_id
