"""One question to memory: the prompt of an agent for a message, with the record of what was recalled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.composition.app import build
from baton.domain.agents.agent import AgentDefinition
from baton.domain.memory.found_item import FoundItem, ItemSource
from baton.domain.memory.procedure_set import ProcedureSet
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import Role, StoredMessage
from baton.memory.agent_memory import AgentMemory
from baton.memory.prompt.context import AgentHistory, AssembledContext
from baton.memory.recalled import Findings, MemorySearch, Retrieval
from baton_testing.fakes.agents import shipped_agents
from baton_testing.fakes.clock import NOON
from baton_testing.fakes.documents.embedder import FakeEmbedder
from baton_testing.fakes.documents.search_index import FakeSearchIndex
from tests.contracts.fake_stores import in_memory
from tests.fakes.ports import FakePorts
from tests.fakes.token_counter import WordCounter
from tests.harness.remembered import remember

ADA = Scope("acme", "ada")
HERE = "thread-here"
MARCH = datetime(2026, 3, 14, 9, tzinfo=UTC)
QUESTION = "How is the pump started?"


def message(ordinal: int, tokens: int) -> StoredMessage:
    role = Role.ASSISTANT if ordinal % 2 else Role.USER
    return StoredMessage(f"m{ordinal}", role, f"text {ordinal}", ordinal, f"r{ordinal // 2}", NOON, tokens)


def make_own_item(ordinal: int) -> FoundItem:
    source = ItemSource(HERE, message_ids=(f"m{ordinal}",))
    text = f"The pump is started by lever {ordinal}."
    return FoundItem(f"m{ordinal}", "message", "the user said", text, MARCH, 0.5, cosine=0.6, source=source)


def make_memory(search: FakeSearchIndex, embedder: FakeEmbedder) -> AgentMemory:
    return build(FakePorts.from_stores(in_memory(), search=search, embedder=embedder)).memory.agent_memory


async def prompt(agent: AgentDefinition, results: Findings, tokens: Sequence[int]) -> AssembledContext:
    """Return the prompt of an agent that has a history of messages with these tokens."""
    history = [message(ordinal, token) for ordinal, token in enumerate(tokens)]
    current = StoredMessage(f"m{len(tokens)}", Role.USER, QUESTION, len(tokens), "now", NOON, 8)
    search = MemorySearch(ADA, QUESTION, agent_id=agent.id, found=results)
    memory = replace(make_memory(FakeSearchIndex(), FakeEmbedder()), counter=WordCounter())
    return await memory.make_prompt(agent, search, AgentHistory(HERE, history, (current,)))


@given(
    st.lists(st.integers(5, 90), max_size=12).map(lambda tokens: tokens[: len(tokens) // 2 * 2]),
    st.sets(st.integers(0, 11)),
    st.integers(500, 900),
    st.sampled_from(["before_message", "before_history"]),
)
async def test_an_item_is_recalled_or_stands_in_the_history_of_the_same_prompt(
    tokens: list[int], ordinals: set[int], budget: int, position: str
) -> None:
    memory = {"max_working_memory_tokens": budget, "retrieved_tokens": 200, "episodic_top_k": 20, "retrieved": position}
    items = tuple(map(make_own_item, sorted(ordinals)))
    context = await prompt(shipped_agents.agent(memory=memory), Findings(QUESTION, episodes=Retrieval(items)), tokens)
    visible = {f"m{len(tokens)}", *(message.id for exchange in context.included for message in exchange.messages)}
    for item in context.recalled.episodes.items:
        if item.included:
            assert item.id not in visible
        elif item.reason == "already in the message history":
            assert item.id in visible
    assert all(prompt in context.prompts for prompt in context.recalled.prompts)


async def test_an_agent_without_history_sees_only_the_message_and_what_was_recalled() -> None:
    search, embedder = FakeSearchIndex(), FakeEmbedder()
    await remember(search, embedder, ADA, "The pump is started by hand.")
    request = MemorySearch(ADA, QUESTION)
    context = await make_memory(search, embedder).make_prompt(shipped_agents.agent(), request)
    assert [prompt.role for prompt in context.prompts] == [Role.SYSTEM, Role.CONTEXT, Role.USER]
    assert "started by hand" in str(context.prompts[1].content)
    assert context.prompts[2].content == QUESTION
    without = await make_memory(search, embedder).make_prompt(
        shipped_agents.agent(), replace(request, with_episodes=False)
    )
    assert [prompt.role for prompt in without.prompts] == [Role.SYSTEM, Role.USER]


async def test_an_agent_that_takes_over_searches_its_own_knowledge_and_nothing_else_again() -> None:
    ports = FakePorts.from_stores(in_memory(), search=FakeSearchIndex(), embedder=FakeEmbedder())
    app = build(ports)
    reads = 0

    async def procedures() -> ProcedureSet:
        nonlocal reads
        reads += 1
        return ProcedureSet()

    await remember(ports.search, ports.embedder, ADA, "The pump is started by hand.")
    memory = app.memory.agent_memory
    search = await memory.search(shipped_agents.agent(id="assistant"), MemorySearch(ADA, QUESTION, procedures))
    context = await memory.make_prompt(shipped_agents.agent(id="specialist"), search)
    assert [item.shown for item in context.recalled.episodes.included] == ["The pump is started by hand."]
    assert reads == 1
    assert ports.embedder.queries == [QUESTION]


@pytest.mark.parametrize("text", ["", "  "])
async def test_without_a_message_nothing_is_searched(text: str) -> None:
    search = FakeSearchIndex()
    search.failure = RuntimeError("nobody asks it")
    request = await make_memory(search, FakeEmbedder()).search(shipped_agents.agent(), MemorySearch(ADA, text))
    assert request.found == Findings()
