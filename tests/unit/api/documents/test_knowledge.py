"""Trying an agent's documents over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import SearchUnavailable
from baton.domain.tenants.identity import Scope
from baton_documents.chunks.chunk import Chunk
from tests.contracts.languages import LANGUAGES
from tests.harness.harness import Harness
from tests.harness.remembered import learn
from tests.unit.api.served import Served

PATH = "/agents/assistant/knowledge/search"
QUESTION = {"query": "How is the pump started?"}
VAULT = AgentDefinition(
    id="vault", name="Vault", description="Keeps.", system_prompt="Keep.", required_permissions=("vault:open",)
)


@pytest.fixture
def served() -> Served:
    return Served(Harness(others=(VAULT,)))


async def items(served: Served, *permissions: str, **question: Any) -> list[dict[str, Any]]:
    answer = await served.post(PATH, QUESTION | question, *permissions)
    results: list[dict[str, Any]] = answer.raise_for_status().json()["items"]
    return results


async def test_an_item_has_its_text_scores_and_place(served: Served) -> None:
    chunk = Chunk(2, "The pump is started by hand.", ("Pumps", "Starting"), 3, 4)
    await learn(served.harness, served.harness.ada, "assistant", chunk.text, url="https://a.example/h", chunk=chunk)
    [item] = await items(served)
    assert (item["id"], item["text"], item["score"]) == ("document-0@1#2", chunk.text, 1.0)
    assert item["signals"].keys() == {"chunk.words", "chunk.meaning"}
    assert (item["included"], item["reason"]) == (True, None)
    assert item["source"] == {
        "kind": "document",
        "documentId": "document-0",
        "version": 1,
        "agentId": "assistant",
        "library": None,
        "title": "Handbook",
        "section": "Pumps > Starting",
        "page": 3,
        "lastPage": 4,
        "url": "https://a.example/h",
    }


async def test_rows_of_a_table_stand_below_its_header(served: Served) -> None:
    rows = Chunk(7, "PN-173 | 7", table_header="part | lead time in days")
    await learn(served.harness, served.harness.ada, "assistant", rows.text, chunk=rows)
    [item] = await items(served, query="What is the lead time of part PN-173?")
    assert item["text"] == "part | lead time in days\nPN-173 | 7"


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("020-555-0142", "Hindi"),
        ("12345", "Persian"),
        ("457890", "Arabic"),
        ("٧٤١٢", "Bengali"),
        ("Ostergard", "Danish"),
        ("What is 457890 the number of?", "Arabic"),
    ],
)
async def test_a_number_or_name_in_another_script_comes_first_and_is_included(
    served: Served, question: str, language: str
) -> None:
    for case in LANGUAGES:
        await learn(served.harness, served.harness.ada, "assistant", case.text, title=case.language)
    first, *_ = await items(served, query=question)
    assert (first["source"]["title"], first["included"]) == (language, True)


async def test_an_item_below_the_floor_says_so(served: Served) -> None:
    await learn(served.harness, served.harness.ada, "assistant", "Cellos have strings.")
    [item] = await items(served)
    assert not item["included"]
    assert item["reason"].startswith("below the relevance floor")


async def test_there_are_at_most_as_many_items_as_asked_for(served: Served) -> None:
    for number in range(4):
        await learn(served.harness, served.harness.ada, "assistant", f"The pump number {number} is started by hand.")
    assert len(await items(served, limit=3)) == 3


async def test_a_document_that_needs_a_permission_is_for_its_holders(served: Served) -> None:
    await learn(served.harness, served.harness.ada, "assistant", "The pump is started by hand.", permission="pump:read")
    assert await items(served) == []
    assert len(await items(served, "pump:read")) == 1


async def test_documents_of_other_agents_and_tenants_are_not_found(served: Served) -> None:
    await learn(served.harness, served.harness.ada, "vault", "The pump is started by hand.")
    await learn(served.harness, Scope("rival", "ada"), "assistant", "The pump is started by hand.")
    assert await items(served) == []


@pytest.mark.parametrize("agent", ["nobody", "vault"])
async def test_an_agent_that_the_caller_may_not_talk_to_is_not_found(served: Served, agent: str) -> None:
    answer = await served.post(f"/agents/{agent}/knowledge/search", QUESTION)
    assert answer.json()["code"] == "unknown_agent"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": " "},
        {"query": 1},
        {"query": "x" * 20_001},
        QUESTION | {"limit": 0},
        QUESTION | {"limit": 41},
        QUESTION | {"limits": 4},
    ],
)
async def test_a_malformed_question_is_refused(served: Served, body: dict[str, Any]) -> None:
    assert (await served.post(PATH, body)).status_code == 422


async def test_a_search_engine_that_is_down_is_an_error(served: Served) -> None:
    served.harness.search.failure = SearchUnavailable()
    answer = await served.post(PATH, QUESTION)
    assert (answer.status_code, answer.json()["code"]) == (503, "search_unavailable")
