"""The room that documents have in the embedded search index, as lists of documents show it."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.documents.search import IndexName, SearchFilter
from baton.domain.tenants.identity import ProjectScope, Scope
from tests.contracts.search import document
from tests.embedded_index import make_embedded_index
from tests.fakes.objects import FakeS3, refusal
from tests.harness.harness import ASSISTANT, Harness
from tests.unit.api.served import Served

WRITE = "document:write"
KNOWLEDGE = IndexName.KNOWLEDGE
PATH = "/agents/assistant/documents"


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baton.adapters.sqlite_index.bounds.MAX_OWNER_DOCUMENTS", 10)


@pytest.fixture
def s3() -> FakeS3:
    return FakeS3()


@pytest.fixture
def served(s3: FakeS3) -> Served:
    assistant = ASSISTANT.model_copy(update={"libraries": ("manual", "prices")})
    return Served(Harness(assistant=assistant, search=make_embedded_index(s3, "search")))


async def index_passages(served: Served, scope: Scope, owner: str, count: int) -> None:
    passages = [document(f"{owner}-{number}", "green", agent_id=owner) for number in range(count)]
    await served.harness.search.put(scope, KNOWLEDGE, passages)


async def page(served: Served, path: str = PATH, *permissions: str) -> dict[str, Any]:
    answer = await served.get(path, WRITE, *permissions)
    listing: dict[str, Any] = answer.raise_for_status().json()
    return listing


async def test_a_list_shows_how_full_the_index_of_its_agent_is_with_one_request_more(
    served: Served, s3: FakeS3
) -> None:
    assert (await page(served))["indexFillPercent"] is None
    await index_passages(served, served.harness.ada, "assistant", 9)
    s3.calls.clear()
    assert await page(served) == {"items": [], "nextCursor": None, "indexFillPercent": 90}
    assert s3.calls == ["head_object"]
    await served.harness.search.delete(served.harness.ada, KNOWLEDGE, SearchFilter(source_id="source-of-assistant-0"))
    assert (await page(served))["indexFillPercent"] == 80


async def test_other_agents_and_tenants_have_room_of_their_own(served: Served) -> None:
    await index_passages(served, Scope("other", "ada"), "assistant", 9)
    await index_passages(served, served.harness.ada, "librarian", 4)
    assert (await page(served))["indexFillPercent"] is None
    assert (await page(served, "/agents/librarian/documents", "archive:read"))["indexFillPercent"] == 40


async def test_a_library_of_the_project_shows_how_full_its_index_is(served: Served) -> None:
    await index_passages(served, ProjectScope(), "manual", 8)
    libraries = (await page(served, "/agents/assistant/libraries"))["items"]
    assert {library["name"]: library["indexFillPercent"] for library in libraries} == {"manual": 80, "prices": None}
    assert (await page(served, "/agents/assistant/libraries/manual/documents"))["indexFillPercent"] == 80


async def test_documents_are_listed_while_the_index_does_not_answer(
    served: Served, s3: FakeS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    await index_passages(served, served.harness.ada, "assistant", 9)

    def refuse(**_: str) -> None:
        raise refusal("SlowDown", 503)

    monkeypatch.setattr(s3, "head_object", refuse)
    assert await page(served) == {"items": [], "nextCursor": None, "indexFillPercent": None}
