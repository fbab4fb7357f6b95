"""Recall in a turn: what the model gets, whose it is, and that nothing that fails or is slow stops the turn."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.documents.search import IndexName, Vector
from baton.domain.errors import EmbedderUnavailable, SearchUnavailable, StoreUnavailable
from baton.domain.memory.procedure import Procedure, ProcedureDraft, ProcedureStatus, ProcedureStep
from baton.domain.memory.procedure_set import ProcedureSet, TriggeredProcedure
from baton.domain.runs.tool_call import ToolCall
from baton.domain.tenants.identity import Scope
from baton.memory.episodes.episode_index import PAIR, WINDOW
from baton.memory.prompt.context import MEMORY_RULES
from baton.memory.recalled import MemorySearch
from baton_documents.chunks.chunk import Chunk, ChunkPart
from baton_testing.fakes.documents.embedder import FakeEmbedder
from tests.contracts.procedures import add_approved
from tests.fakes.chat_model import Answer
from tests.harness.handoffs import HandoffHarness, transfer
from tests.harness.harness import ASSISTANT, TODAY, Harness, Turn
from tests.harness.remembered import MARCH, learn, remember

QUESTION = "What is my cat called?"
REMEMBERED = '- 2026-03-14: the user said: "My cat is called Miso."'


async def make_remembering_harness() -> Harness:
    """Return a harness that recalls, and whose user has mentioned a cat in a past conversation."""
    harness = Harness(recalls=True)
    await remember(harness.search, harness.embedder, harness.ada, "My cat is called Miso.")
    return harness


def prompts(harness: Harness) -> list[tuple[str, Any]]:
    return harness.model.requests[-1].contents


def prompt_text(harness: Harness) -> str:
    """Return the text of all prompts of the model's last request."""
    return "\n".join(str(content) for _, content in prompts(harness))


async def context(harness: Harness, run_id: str | None = None) -> dict[str, Any]:
    """The inspector's record of a run, by default of the only one."""
    return await harness.context(run_id)


async def blocks(harness: Harness) -> dict[str, dict[str, Any]]:
    return {block["kind"]: block for block in (await context(harness))["blocks"]}


# What the model gets


async def test_the_answer_is_made_from_a_dated_snippet_of_the_past() -> None:
    harness = await make_remembering_harness()
    await harness.say(content=QUESTION)
    roles = [role for role, _ in prompts(harness)]
    assert roles == ["system", "context", "system", "user"]
    assert str(prompts(harness)[1][1]).endswith(f"\n{REMEMBERED}")
    assert prompts(harness)[2] == TODAY


async def test_the_blocks_stand_in_their_order() -> None:
    harness = await make_remembering_harness()
    await teach(harness, "Cats", "what is my cat called")
    await learn(harness, harness.ada, "assistant", "A cat is called by its name.")
    await harness.say("m1", "Hello")
    await harness.say("m2", QUESTION)
    contents = [str(content) for _, content in prompts(harness)]
    assert contents[0] == f"Be brief.\n\n{MEMORY_RULES}"
    starts = [
        "The message matches the skill 'Cats'",
        "Retrieved knowledge",
        "Snippets of past",
        "Hello",
        "Hello there.",
    ]
    assert [content.startswith(start) for content, start in zip(contents[1:], starts, strict=False)] == [True] * 5
    assert contents[-1] == QUESTION


async def test_the_rules_for_what_is_remembered_are_the_same_in_every_turn() -> None:
    harness = await make_remembering_harness()
    await harness.say("m1", QUESTION)
    await harness.say("m2", "Something else entirely")
    first, second = (model_request.contents[0] for model_request in harness.model.requests)
    assert first == second
    assert REMEMBERED not in prompt_text(harness)


async def test_a_message_embeds_once_whatever_it_is_compared_with() -> None:
    harness = await make_remembering_harness()
    await learn(harness, harness.ada, "assistant", "Cats sleep.")
    await teach(harness, "Feeding", "feed the animals")
    harness.embedder.embedded.clear()
    await harness.say(content=QUESTION)
    assert harness.embedder.embedded.count(QUESTION) == 1
    assert harness.embedder.queries == [QUESTION]
    assert {index for _, index, _ in harness.search.searches} == {IndexName.EPISODES, IndexName.KNOWLEDGE}


async def test_an_agent_can_switch_each_retrieval_off() -> None:
    quiet = ASSISTANT.model_copy(
        update={"memory": ASSISTANT.memory.model_copy(update={"semantic_top_k": 0, "episodic_top_k": 0})}
    )
    harness = Harness(recalls=True, assistant=quiet)
    await remember(harness.search, harness.embedder, harness.ada, "My cat is called Miso.")
    await harness.say(content=QUESTION)
    assert harness.search.searches == []
    assert QUESTION not in harness.embedder.embedded
    assert prompts(harness) == [("system", "Be brief."), TODAY, ("user", QUESTION)]


async def test_what_stands_in_the_history_is_not_recalled() -> None:
    harness = Harness(recalls=True)
    exchange = await harness.say("m1", "My cat is called Miso.")
    assert exchange.finished is not None
    where = {"thread_id": harness.thread_id, "message_id": exchange.finished.messages[0].id}
    await remember(harness.search, harness.embedder, harness.ada, "My cat is called Miso.", **where)
    await harness.say("m2", QUESTION)
    assert prompt_text(harness).count("My cat is called Miso.") == 1
    record = await context(harness, harness.request("m2").run_id)
    [item] = next(block["items"] for block in record["blocks"] if block["kind"] == "episodes")
    assert item["reason"] == "already in the message history"


@pytest.mark.parametrize(("minutes", "is_recalled"), [(0, False), (-1, True)])
async def test_the_summary_of_a_session_that_stands_in_the_history_is_not_recalled(
    minutes: int, is_recalled: bool
) -> None:
    harness = Harness(recalls=True)
    began = harness.clock.now() + timedelta(minutes=minutes)
    await harness.say("m1", "My cat is called Miso.")
    about: dict[str, Any] = {"thread_id": harness.thread_id, "kind": "summary", "at": began}
    await remember(harness.search, harness.embedder, harness.ada, "The user's cat is called Miso.", **about)
    await harness.say("m2", QUESTION)
    assert ("The user's cat is called Miso." in prompt_text(harness)) == is_recalled


async def test_the_model_learns_what_was_recalled_as_data_too() -> None:
    harness = await make_remembering_harness()
    await harness.say(content=QUESTION)
    recalled = dict(harness.model.requests[-1].settings.metadata["recalled.1"])
    assert recalled.pop("text") == "My cat is called Miso."
    assert recalled == {"kind": "message", "date": "2026-03-14", "source": "the user said", "role": "user"}


async def test_the_model_learns_which_message_of_a_day_was_said_later() -> None:
    harness = Harness(recalls=True)
    for minutes, name in enumerate(("Miso", "Nori", "Tofu")):
        at = MARCH + timedelta(minutes=minutes, days=minutes // 2)
        await remember(harness.search, harness.embedder, harness.ada, f"My cat is called {name}.", at=at)
    await harness.say(content=QUESTION)
    metadata = harness.model.requests[-1].settings.metadata
    stored_at = {metadata[f"recalled.{n}"]["text"][17:-1]: metadata[f"recalled.{n}"].get("at") for n in (1, 2, 3)}
    assert stored_at == {"Miso": "2026-03-14T09:26:00+00:00", "Nori": "2026-03-14T09:27:00+00:00", "Tofu": None}


@pytest.mark.parametrize(("role", "recalled"), [("user", True), ("assistant", False)])
async def test_only_an_answer_of_the_user_is_relevant_for_the_question_before_it(role: str, recalled: bool) -> None:
    harness = Harness(recalls=True)
    about = "What is my cat called? Miso."
    await remember(harness.search, harness.embedder, harness.ada, "Miso.", role=role, neighbours={PAIR: about})
    await harness.say(content=QUESTION)
    assert ('"Miso."' in prompt_text(harness)) == recalled


async def test_a_whole_sentence_is_not_relevant_for_the_message_before_it() -> None:
    harness = Harness(recalls=True)
    exchange = "Spinach tastes best with garlic."
    before = {PAIR: f"My cat is called Miso. {exchange}"}
    await remember(harness.search, harness.embedder, harness.ada, exchange, role="user", neighbours=before)
    await harness.say(content=QUESTION)
    assert exchange not in prompt_text(harness)


async def test_a_message_is_not_relevant_for_those_around_it() -> None:
    harness = Harness(recalls=True)
    around = {WINDOW: "My cat is called Miso. Fine."}
    await remember(harness.search, harness.embedder, harness.ada, "Fine.", neighbours=around)
    await harness.say(content=QUESTION)
    assert '"Fine."' not in prompt_text(harness)


# Whose it is


@pytest.mark.parametrize("owner", [Scope("acme", "bob"), Scope("rival", "ada")])
async def test_nobody_recalls_what_another_user_or_tenant_has_said(owner: Scope) -> None:
    harness = Harness(recalls=True)
    await remember(harness.search, harness.embedder, owner, "My cat is called Miso.")
    await learn(harness, Scope("rival", "ada"), "assistant", "The cat is called Miso.")
    await harness.say(content=QUESTION)
    assert "Miso" not in prompt_text(harness)
    assert harness.context_records.records
    assert "Miso" not in str(list(harness.context_records.records.values()))


async def test_agents_have_their_own_knowledge() -> None:
    harness = Harness(recalls=True)
    await learn(harness, harness.ada, "librarian", "The cat is called Miso.")
    await harness.say(content=QUESTION)
    assert "Miso" not in prompt_text(harness)


async def test_a_specialist_that_takes_over_uses_the_same_embedding_and_its_own_knowledge() -> None:
    harness = HandoffHarness()
    for name in ("maker", "assistant"):
        definition = harness.shipped_agents.definitions[name]
        harness.shipped_agents.definitions[name] = definition.model_copy(update={"memory": ASSISTANT.memory})
        await learn(harness, harness.ada, name, f"The {name} knows that the cat is Miso.")
    await remember(harness.search, harness.embedder, harness.ada, "My cat is called Miso.")
    harness.model.script(transfer(), "Miso it is.")
    await harness.say(content=QUESTION)
    assert "The maker knows" in prompt_text(harness)
    assert "The assistant knows" not in prompt_text(harness)
    assert REMEMBERED in prompt_text(harness)
    assert harness.embedder.embedded.count(QUESTION) == 1
    assert [index for _, index, _ in harness.search.searches].count(IndexName.EPISODES) == 1


async def test_a_consulted_agent_gets_its_knowledge_and_nothing_of_the_users_conversations() -> None:
    expert = AgentDefinition(id="expert", name="Expert", description="Knows.", system_prompt="Be exact.")
    asking = ASSISTANT.model_copy(update={"sub_agents": ("expert",)})
    harness = Harness(recalls=True, assistant=asking, others=(expert,))
    await remember(harness.search, harness.embedder, harness.ada, "My cat is called Miso.")
    await learn(harness, harness.ada, "expert", "What a cat is called is up to her.")
    harness.model.script(Answer.calling(call("ask_expert", message=QUESTION)), "It comes.", "Miso comes.")
    await harness.say(content=QUESTION)
    consulted = harness.model.requests[1]
    everything = "\n".join(str(content) for _, content in consulted.contents)
    assert "What a cat is called is up to her." in everything
    assert "Miso" not in everything
    calls = (await context(harness))["calls"]
    assert [call["agentId"] for call in calls] == ["assistant", "expert", "assistant"]
    assert calls[1]["taskId"] is not None


# What an answer rests on


PUMP = Chunk(2, "A cat called Miso is let in by hand.", ("Cats", "Doors"), 3, 4)


async def test_knowledge_stands_in_the_prompt_with_section_pages_and_link() -> None:
    harness = Harness(recalls=True)
    await learn(harness, harness.ada, "assistant", PUMP.text, chunk=PUMP, url="https://a.example/h")
    await harness.say(content=QUESTION)
    line = '[1] 2026-03-14: source "Handbook", section "Cats > Doors", pages 3-4, link "https://a.example/h": '
    assert f'{line}"{PUMP.text}"' in prompt_text(harness)


COLUMNS = "cat | food in grams"
ROWS = Chunk(7, "Miso | 70\nTofu | 90", table_header=COLUMNS)


async def test_rows_of_a_table_stand_below_its_header_in_the_prompt_and_the_record() -> None:
    harness = Harness(recalls=True)
    await learn(harness, harness.ada, "assistant", ROWS.text, chunk=ROWS)
    await harness.say(content="cat food in grams: Miso, Tofu?")
    assert f'"{COLUMNS}\\nMiso | 70\\nTofu | 90"' in prompt_text(harness)
    [item] = (await blocks(harness))["knowledge"]["items"]
    assert (item["text"], item["included"]) == (f"{COLUMNS}\n{ROWS.text}", True)


async def test_a_consulted_agent_gets_rows_below_their_header() -> None:
    expert = AgentDefinition(id="expert", name="Expert", description="Knows.", system_prompt="Be exact.")
    asking = ASSISTANT.model_copy(update={"sub_agents": ("expert",)})
    harness = Harness(recalls=True, assistant=asking, others=(expert,))
    await learn(harness, harness.ada, "expert", ROWS.text, chunk=ROWS)
    model_request = call("ask_expert", message="cat food in grams: Miso, Tofu?")
    harness.model.script(Answer.calling(model_request), "70 g.", "It gets 70 g.")
    await harness.say(content=QUESTION)
    everything = "\n".join(str(content) for _, content in harness.model.requests[1].contents)
    assert f'"{COLUMNS}\\nMiso | 70\\nTofu | 90"' in everything


def sources(exchange: Turn) -> list[dict[str, Any]]:
    ends = [event.body for event in exchange.events if event.type == "TEXT_MESSAGE_END"]
    results: list[dict[str, Any]] = ends[-1]["metadata"]["sources"]
    return results


async def test_an_answer_names_the_chunks_that_it_was_given() -> None:
    harness = Harness(recalls=True)
    await learn(harness, harness.ada, "assistant", PUMP.text, chunk=PUMP, url="https://a.example/h")
    await learn(harness, harness.ada, "assistant", "Cellos have strings.")
    exchange = await harness.say(content=QUESTION)
    [source] = sources(exchange)
    assert exchange.finished is not None
    assert exchange.finished.messages[-1].sources == (source,)
    score = source["score"]
    assert score > 0
    assert source == {
        "score": score,
        "kind": "document",
        "id": "document-0",
        "title": "Handbook",
        "agentId": "assistant",
        "section": "Cats > Doors",
        "page": 3,
        "chunk": "document-0@1#2",
        "url": "https://a.example/h",
        "number": 1,
    }


async def test_the_prompt_the_sources_and_the_record_name_the_same_place_of_a_chunk_that_crosses_a_heading() -> None:
    harness = Harness(recalls=True)
    text = f"{PUMP.text}\n\nCows\n\nCows sing."
    parts = (ChunkPart(0, ("Cats",), 57), ChunkPart(text.index("Cows"), ("Cows",), 58))
    await learn(harness, harness.ada, "assistant", text, chunk=Chunk(0, text, ("Cows",), 57, 58, None, parts))
    [source] = sources(await harness.say(content=QUESTION))
    assert (source["section"], source["page"]) == ("Cats", 57)
    assert 'section "Cats", page 57: ' in prompt_text(harness)
    [item] = (await blocks(harness))["knowledge"]["items"]
    assert (item["source"]["section"], item["source"]["pages"]) == ("Cats", "57")


async def test_a_link_that_is_too_long_for_the_sources_of_an_answer_is_left_out_not_cut() -> None:
    harness = Harness(recalls=True)
    await learn(harness, harness.ada, "assistant", PUMP.text, chunk=PUMP, url="https://a.example/" + "h" * 2_000)
    [source] = sources(await harness.say(content=QUESTION))
    assert (source["title"], source["url"]) == ("Handbook", None)


async def consult(*, says: str, answer: str) -> list[tuple[str, str]]:
    """Return the kinds and ids of the sources of an answer for which an agent with a document was consulted."""
    expert = AgentDefinition(id="expert", name="Expert", description="Knows.", system_prompt="Be exact.")
    harness = Harness(
        recalls=True, assistant=ASSISTANT.model_copy(update={"sub_agents": ("expert",)}), others=(expert,)
    )
    await learn(harness, harness.ada, "expert", PUMP.text, chunk=PUMP)
    harness.model.script(Answer.calling(call("ask_expert", message=QUESTION)), says, answer)
    exchange = await harness.say(content=QUESTION)
    return [
        (source["kind"], source["agentId" if source["kind"] == "document" else "id"]) for source in sources(exchange)
    ]


async def test_an_answer_names_the_documents_that_consulted_agents_cite() -> None:
    results = await consult(says="By hand (Handbook, page 3).", answer="Miso is let in by hand (Expert).")
    assert results == [("agent", "expert"), ("document", "expert")]


async def test_an_answer_names_no_documents_that_consulted_agents_do_not_cite() -> None:
    assert await consult(says="She comes when called.", answer="Miso comes.") == [("agent", "expert")]


@pytest.mark.parametrize("answer", ["I could not find anything about it.", "Miso is her name."])
async def test_an_agent_that_found_nothing_is_no_source_and_neither_are_its_documents(answer: str) -> None:
    assert await consult(says="I found nothing about this in my documents.", answer=answer) == []


async def test_an_answer_that_found_nothing_has_no_sources() -> None:
    assert await consult(says="By hand (Handbook, page 3).", answer="I don't know what your cat is called.") == []
    harness = Harness(recalls=True)
    await learn(harness, harness.ada, "assistant", PUMP.text, chunk=PUMP)
    harness.model.script("The documents do not mention it.")
    exchange = await harness.say(content=QUESTION)
    assert sources(exchange) == []
    assert exchange.finished is not None
    assert exchange.finished.messages[-1].sources == ()


async def test_documents_that_cannot_be_checked_are_not_used_and_the_record_says_why() -> None:
    harness = Harness(recalls=True)
    await learn(harness, harness.ada, "assistant", PUMP.text)

    async def fail(*_: object) -> Any:
        raise StoreUnavailable

    harness.documents.get_many = fail  # type: ignore[method-assign]
    exchange = await harness.say(content=QUESTION)
    assert exchange.text == "Hello there."
    assert sources(exchange) == []
    assert PUMP.text not in prompt_text(harness)
    assert (await blocks(harness))["knowledge"]["error"].startswith("store_unavailable: ")


# What fails or is slow


def break_search(harness: Harness) -> None:
    harness.search.failure = SearchUnavailable()


def crashing_search(harness: Harness) -> None:
    harness.search.failure = RuntimeError("a fault of ours")


def slow_search(harness: Harness) -> None:
    harness.search.seconds = 60


@pytest.mark.parametrize(
    ("breaks", "error"),
    [
        (break_search, "search_unavailable: "),
        (crashing_search, "internal_error: "),
        (slow_search, "took more than the deadline of 100 ms"),
    ],
)
async def test_a_turn_goes_on_without_a_search_that_fails_or_is_slow(breaks: Any, error: str) -> None:
    harness = await make_remembering_harness()
    with_deadline(harness, 100)
    breaks(harness)
    exchange = await harness.say(content=QUESTION)
    assert (exchange.types[-1], exchange.text) == ("RUN_FINISHED", "Hello there.")
    assert REMEMBERED not in prompt_text(harness)
    results = await blocks(harness)
    assert results["episodes"]["error"].startswith(error)
    assert results["knowledge"]["error"].startswith(error)
    assert results["episodes"]["items"] == []


async def test_without_an_embedder_the_message_is_searched_by_its_words() -> None:
    harness = await make_remembering_harness()
    harness.embedder.failure = EmbedderUnavailable()
    await harness.say(content=QUESTION)
    assert REMEMBERED in prompt_text(harness)
    assert (await blocks(harness))["episodes"]["error"] == "embedder_unavailable: searched by words only"


async def test_a_slow_embedder_leaves_time_for_a_search_by_words() -> None:
    harness = await make_remembering_harness()
    with_deadline(harness, 200)
    harness.embedder.seconds = 60
    await harness.say(content=QUESTION)
    assert REMEMBERED in prompt_text(harness)
    assert (await blocks(harness))["episodes"]["error"] == "the embedding took more than 120 ms: searched by words only"


async def test_an_index_of_another_dimension_is_searched_by_words() -> None:
    harness = await make_remembering_harness()
    harness.embedder.dimensions = 8
    await harness.say(content=QUESTION)
    assert REMEMBERED in prompt_text(harness)
    assert (await blocks(harness))["episodes"]["error"] == "wrong_dimension: searched by words only"


async def test_vectors_of_another_model_say_nothing_about_relevance() -> None:
    harness = await make_remembering_harness()
    harness.embedder.name = "another-model"
    await harness.say(content="Unrelated words entirely")
    [item] = (await blocks(harness))["episodes"]["items"]
    assert item["reason"].startswith("too few of the message's words")


async def test_embedding_that_is_switched_off_is_no_error() -> None:
    harness = await make_remembering_harness()
    harness.embedder.dimensions = 0
    await harness.say(content=QUESTION)
    assert REMEMBERED in prompt_text(harness)
    assert (await blocks(harness))["episodes"]["error"] is None


async def test_a_run_that_is_stopped_while_it_recalls_leaves_nothing_behind() -> None:
    harness = await make_remembering_harness()
    harness.search.seconds = 60
    turn = asyncio.ensure_future(harness.say(content=QUESTION))
    await asyncio.sleep(0.05)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert not [task for task in others if "find_episodes" in repr(task) or "_find" in repr(task)]


@pytest.mark.parametrize("content", ["OR AND NOT (", '"', "ä" * 10_000, "*:*", "私の猫の名前は何ですか", "\u0000?"])
async def test_any_message_can_be_recalled_for(content: str) -> None:
    harness = await make_remembering_harness()
    exchange = await harness.say(content=content)
    assert exchange.types[-1] == "RUN_FINISHED"


async def test_an_attempt_after_a_crash_recalls_again() -> None:
    harness = await make_remembering_harness()
    harness.model.script(Answer(("never",), gate=asyncio.Event()))
    dead = asyncio.ensure_future(harness.say(content=QUESTION))
    await harness.wait_for_requests()
    dead.cancel()
    await asyncio.gather(dead, return_exceptions=True)
    harness.clock.advance(60)
    exchange = await harness.say(content=QUESTION)
    assert exchange.types[-1] == "RUN_FINISHED"
    assert REMEMBERED in prompt_text(harness)
    assert len(harness.context_records.records) == 1


# Skills


async def teach(harness: Harness, name: str, trigger: str, description: str = "Says what cats are called.") -> None:
    draft = ProcedureDraft(name, description, (trigger,), (ProcedureStep("Say the name."),))
    product = Procedure(draft, "acme", "assistant", "bob", harness.clock.now())
    await add_approved(harness.procedures, harness.ada, product)


class Meanings(FakeEmbedder):
    """An embedder to which two texts mean the same."""

    async def embed(self, texts: Sequence[str], **_: object) -> Sequence[Vector]:
        return [self.vector("say names" if "name" in text or "called" in text else text) for text in texts]


async def test_a_skill_is_found_by_its_meaning_where_no_trigger_matches() -> None:
    harness = Harness(recalls=True)
    harness.embedder.__class__ = Meanings
    await teach(harness, "Naming", "tell me names")
    await harness.say("m1", "How is the cat called?")
    assert "The message matches the skill 'Naming' (version 1, by its meaning)" in prompt_text(harness)
    await harness.say("m2", "What is the weather like?")
    assert "Naming" not in prompt_text(harness)


async def test_a_version_of_a_skill_is_embedded_once() -> None:
    harness = Harness(recalls=True)
    await teach(harness, "Naming", "tell me names")
    for number in range(3):
        await harness.say(f"m{number}", f"How is the cat called, {number}?")
    assert harness.embedder.embedded.count("tell me names") == 1


async def test_a_message_with_a_trigger_is_not_embedded_for_other_skills() -> None:
    quiet = ASSISTANT.memory.model_copy(update={"semantic_top_k": 0, "episodic_top_k": 0})
    harness = Harness(recalls=True, assistant=ASSISTANT.model_copy(update={"memory": quiet}))
    await teach(harness, "Cats", "cat called")
    await harness.say(content=QUESTION)
    assert "The message matches the skill 'Cats'" in prompt_text(harness)
    assert harness.embedder.embedded == []


async def test_triggers_match_even_if_everything_else_is_slow() -> None:
    harness = await make_remembering_harness()
    with_deadline(harness, 50)
    harness.search.seconds = harness.embedder.seconds = 60
    await teach(harness, "Cats", "cat called")
    await harness.say(content=QUESTION)
    assert "The message matches the skill 'Cats'" in prompt_text(harness)


class Noted(ProcedureSet):
    """Procedures that note in which threads messages are compared with triggers."""

    def find_triggered(self, text: str) -> list[TriggeredProcedure]:
        self.threads = [*getattr(self, "threads", []), threading.get_ident()]
        return super().find_triggered(text)


async def test_a_long_message_is_compared_with_many_triggers_beside_the_event_loop() -> None:
    harness = Harness(recalls=True)
    steps = (ProcedureStep("Post it."),)
    draft = ProcedureDraft("Alert", "Posts.", tuple(f"send the alert {number}" for number in range(20)), steps)
    one = Procedure(draft, "acme", "assistant", "ada", harness.clock.now(), 1, ProcedureStatus.APPROVED)
    noted = Noted([one])

    async def procedures() -> ProcedureSet:
        return noted

    for text in ("Hello", "Hello " * 3000):
        await harness.app.memory.agent_memory.search(ASSISTANT, MemorySearch(harness.ada, text, procedures))
    here = threading.get_ident()
    assert [thread == here for thread in noted.threads] == [True, False]


def with_deadline(harness: Harness, milliseconds: float) -> None:
    """Let the harness recall for so long at most."""
    harness.app.memory.agent_memory.recall.deadline = timedelta(milliseconds=milliseconds)


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall("c1", name, json.dumps(arguments))
