"""A search of the user's past that begins before the thread and the agent of the message are known."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from baton.composition.app import build
from baton.domain.documents.search import IndexName
from baton.domain.errors import ThreadUnavailable
from baton.domain.memory.found_item import FoundItem
from baton.domain.tenants.identity import Scope
from baton.memory.agent_memory import AgentMemory
from baton.memory.recalled import MemorySearch
from baton.ports.threads.leases import Lease
from baton_testing.fakes.agents import shipped_agents
from baton_testing.fakes.documents.embedder import FakeEmbedder
from baton_testing.fakes.documents.search_index import FakeSearchIndex
from tests.contracts.fake_stores import in_memory
from tests.fakes.ports import FakePorts
from tests.harness.harness import Harness
from tests.harness.remembered import learn, remember

ADA = Scope("acme", "ada")
QUESTION = "What is my cat called?"
AGENT = shipped_agents.agent(memory={"semantic_top_k": 0})


async def make_slow_memory() -> AgentMemory:
    """Return a memory whose embedder and search take a tenth of a second each."""
    ports = FakePorts.from_stores(in_memory(), search=FakeSearchIndex(), embedder=FakeEmbedder(seconds=0.1))
    await remember(ports.search, ports.embedder, ADA, "My cat is called Miso.")
    ports.search.seconds = 0.1
    return build(ports).memory.agent_memory


def episodes(search: MemorySearch) -> list[str]:
    items: tuple[FoundItem, ...] = search.found.episodes.items
    return [item.text for item in items]


def searches(memory: AgentMemory) -> int:
    assert isinstance(memory.recall.index, FakeSearchIndex)
    return [index for _, index, _ in memory.recall.index.searches].count(IndexName.EPISODES)


async def test_what_began_early_is_used_and_takes_no_more_time() -> None:
    memory, loop = await make_slow_memory(), asyncio.get_running_loop()
    early = memory.begin(ADA, QUESTION, AGENT)
    await asyncio.sleep(0.2)
    began = loop.time()
    items = await memory.search(AGENT, MemorySearch(ADA, QUESTION, early=early))
    assert loop.time() == began
    assert episodes(items) == ["My cat is called Miso."]
    assert items.found.episodes.duration.total_seconds() == pytest.approx(0.2)
    assert isinstance(memory.recall.embedder, FakeEmbedder)
    assert (memory.recall.embedder.queries, searches(memory)) == ([QUESTION], 1)


async def test_the_embedding_of_an_early_search_serves_the_agents_knowledge() -> None:
    memory = await make_slow_memory()
    early = memory.begin(ADA, QUESTION, AGENT)
    await memory.search(shipped_agents.agent(), MemorySearch(ADA, QUESTION, early=early))
    assert isinstance(memory.recall.embedder, FakeEmbedder)
    assert memory.recall.embedder.queries == [QUESTION]


@pytest.mark.parametrize("scope", [Scope("acme", "bob"), Scope("rival", "ada")])
async def test_a_search_of_another_users_past_is_not_used(scope: Scope) -> None:
    memory = await make_slow_memory()
    items = await memory.search(AGENT, MemorySearch(scope, QUESTION, early=memory.begin(ADA, QUESTION, AGENT)))
    assert episodes(items) == []


async def test_a_search_for_another_text_is_not_used() -> None:
    memory = await make_slow_memory()
    await memory.search(AGENT, MemorySearch(ADA, QUESTION, early=memory.begin(ADA, "What is my dog called?", AGENT)))
    assert searches(memory) == 2


async def test_a_search_that_waited_for_long_is_made_again() -> None:
    memory = await make_slow_memory()
    early = memory.begin(ADA, QUESTION, AGENT)
    await asyncio.sleep(10)
    assert isinstance(memory.recall.index, FakeSearchIndex)
    memory.recall.index.documents.clear()  # the user was forgotten meanwhile
    assert episodes(await memory.search(AGENT, MemorySearch(ADA, QUESTION, early=early))) == []


async def test_an_agent_without_episodes_gets_none_of_an_early_search() -> None:
    memory = await make_slow_memory()
    early = memory.begin(ADA, QUESTION, AGENT)
    quiet = shipped_agents.agent(memory={"episodic_top_k": 0})
    assert episodes(await memory.search(quiet, MemorySearch(ADA, QUESTION, early=early))) == []


async def test_a_specialist_that_takes_over_after_an_early_embedding_was_late_searches_by_words() -> None:
    memory = await make_slow_memory()
    assert isinstance(memory.recall.embedder, FakeEmbedder)
    memory.recall.embedder.seconds = 60
    memory.recall.deadline = timedelta(milliseconds=400)
    search = MemorySearch(ADA, QUESTION, early=memory.begin(ADA, QUESTION, AGENT))
    first = await memory.search(AGENT, search)
    built = await memory.make_prompt(shipped_agents.agent(id="specialist"), first)
    assert built.recalled.knowledge.error == "the embedding took more than 240 ms: searched by words only"


async def test_a_search_that_is_stopped_ends() -> None:
    memory = await make_slow_memory()
    early = memory.begin(ADA, QUESTION, AGENT)
    assert early is not None
    await early.stop()
    assert early.episodes.task.cancelled()
    assert searches(memory) == 0


async def test_a_message_without_words_begins_nothing() -> None:
    assert (await make_slow_memory()).begin(ADA, " ", AGENT) is None


async def test_an_agent_that_searches_nothing_begins_nothing() -> None:
    quiet = shipped_agents.agent(memory={"semantic_top_k": 0, "episodic_top_k": 0})
    assert (await make_slow_memory()).begin(ADA, QUESTION, quiet) is None


@pytest.mark.parametrize(
    ("answering", "expected"),
    [
        ({"id": "assistant"}, ["assistant"]),
        ({"id": "other"}, ["assistant", "other"]),
        (
            {"id": "assistant", "libraries": ["handbook"]},
            ["assistant", "assistant", "handbook"],
        ),  # the session's version
    ],
)
async def test_documents_that_were_searched_early_count_only_for_their_agent_and_its_libraries(
    answering: dict[str, Any], expected: list[str]
) -> None:
    memory = await make_slow_memory()
    assert isinstance(memory.recall.index, FakeSearchIndex)
    early = memory.begin(ADA, QUESTION, shipped_agents.agent(id="assistant"))
    await asyncio.sleep(0.2)
    await memory.search(shipped_agents.agent(**answering), MemorySearch(ADA, QUESTION, early=early))
    searches = memory.recall.index.searches
    assert [query.filter.agent_id for _, index, query in searches if index == IndexName.KNOWLEDGE] == expected


async def test_an_early_search_that_fails_gives_its_reason() -> None:
    memory = await make_slow_memory()
    assert isinstance(memory.recall.index, FakeSearchIndex)
    memory.recall.index.failure = RuntimeError("a fault of ours")
    items = await memory.search(AGENT, MemorySearch(ADA, QUESTION, early=memory.begin(ADA, QUESTION, AGENT)))
    assert items.found.episodes.error == "internal_error: it failed unexpectedly"
    assert replace(items, early=None) == items


# In a turn


async def test_the_past_is_searched_while_the_lease_is_taken() -> None:
    harness = Harness(recalls=True)
    await remember(harness.search, harness.embedder, harness.ada, "My cat is called Miso.")
    acquire = harness.store.acquire

    async def acquire_after_search(*values: Any) -> Lease:
        async with asyncio.timeout(10):
            while not harness.search.searches:  # noqa: ASYNC110 - the fake has no event for it
                await asyncio.sleep(0.01)
        return await acquire(*values)

    harness.store.acquire = acquire_after_search  # type: ignore[method-assign]
    await harness.say(content=QUESTION)
    assert "Miso" in str(harness.model.requests[-1].contents)
    assert harness.embedder.queries == [QUESTION]
    assert [index for _, index, _ in harness.search.searches].count(IndexName.EPISODES) == 1


async def test_a_refused_message_leaves_no_search_behind() -> None:
    harness = Harness(recalls=True)
    await harness.say()
    harness.embedder.seconds = 60
    with pytest.raises(ThreadUnavailable):
        await harness.say("m2", QUESTION, scope=Scope("acme", "bob"))
    assert not [task for task in asyncio.all_tasks() if "MessageEmbedding" in repr(task)]


async def test_a_recall_reads_storage_at_most_once_and_only_for_documents() -> None:
    harness = Harness(recalls=True)
    await remember(harness.search, harness.embedder, harness.ada, "My cat is called Miso.")
    reads: list[str] = []
    for port, method in (("documents", "get_many"), ("procedures", "approved"), ("private_skills", "in_use")):
        count_calls(getattr(harness, port), method, reads)
    await harness.say("m1")
    reads.clear()  # those of the procedures, which the worker keeps
    await harness.say("m2", QUESTION)
    assert reads == []
    await learn(harness, harness.ada, "assistant", "A cat is called by its name.")
    await harness.say("m3", QUESTION)
    assert "by its name" in str(harness.model.requests[-1].contents)
    assert reads == ["get_many"]


def count_calls(port: Any, method: str, calls: list[str]) -> None:
    """Note each call of a port's method."""
    carry_out = getattr(port, method)

    async def record_call(*args: Any, **kwargs: Any) -> Any:
        calls.append(method)
        return await carry_out(*args, **kwargs)

    setattr(port, method, record_call)
