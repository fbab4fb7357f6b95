"""Documents and sources of many tenants and agents, through the API: everybody sees exactly their own."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from baton.domain.documents.source import SourceRules
from baton.domain.tenants.egress_policy import EgressPolicy
from baton.domain.tenants.identity import Scope
from baton.ports.documents.sources import PageContent
from baton_testing.fakes.documents.documents import FakeDocuments
from tests.fakes.documents import FakeDocumentFiles
from tests.fakes.sources import FakeSourceObjects, FakeSources, FakeWebPages
from tests.harness.harness import ASSISTANT, Harness
from tests.unit.api.served import Served

WRITE = "document:write"
TENANTS = ["acme", "acme2", "a", "globex"]
AGENTS = ["assistant", "librarian", "assistant2"]
PERMISSIONS = (WRITE, "archive:read")
NUMBERS = st.integers(0, 2)
Owner = tuple[str, str]
Action = tuple[str, str, str, int]

actions = st.lists(
    st.tuples(
        st.sampled_from(["add", "delete", "add source", "delete source", "refresh", "write"]),
        st.sampled_from(TENANTS),
        st.sampled_from(AGENTS),
        NUMBERS,
    ),
    max_size=25,
)


def document_id(number: int) -> str:
    return f"doc_{number:032x}"


def source_id(number: int) -> str:
    return f"src_{number:032x}"


class World:
    """The API over fakes, with what should be there by now."""

    def __init__(self) -> None:
        rules = SourceRules(EgressPolicy.of(["*"]), ("manuals/{tenant}/",))
        self.documents, self.files = FakeDocuments(), FakeDocumentFiles()
        self.sources, self.objects, self.web = FakeSources(), FakeSourceObjects(), FakeWebPages()
        for tenant in TENANTS:
            for number in range(3):
                content = PageContent(f"{tenant} {number}".encode(), "text/plain", f"{number}")
                self.objects.contents["manuals", f"{tenant}/{number}/a.txt"] = content
        harness = Harness(
            others=(ASSISTANT.model_copy(update={"id": "assistant2"}),),
            source_rules=rules,
            documents=self.documents,
            document_files=self.files,
            sources=self.sources,
            source_objects=self.objects,
            web_pages=self.web,
        )
        self.served, self.harness = Served(harness), harness
        self.expected: dict[Owner, set[str]] = {}
        self.expected_sources: dict[Owner, set[str]] = {}

    async def play(self, action: Action) -> None:
        kind, tenant, agent, number = action
        self.harness.ada = Scope(tenant, "ada")
        owner, path = (tenant, agent), f"/agents/{agent}"
        body: dict[str, Any]
        match kind:
            case "add":
                body = {"name": f"{tenant}-{agent}-{number}.pdf", "contentType": "application/pdf", "size": 1}
                answer = await self.served.post(
                    f"{path}/documents", body | {"documentId": document_id(number)}, *PERMISSIONS
                )
                if answer.status_code == 201:
                    assert f"/{tenant}/{agent}/" in answer.json()["upload"]["url"]
                    self.expected.setdefault(owner, set()).add(document_id(number))
                else:
                    assert answer.json()["code"] == "document_busy"  # it is being deleted
            case "delete":
                await self.served.request("DELETE", f"{path}/documents/{document_id(number)}", *PERMISSIONS)
                self.expected.get(owner, set()).discard(document_id(number))
            case "add source" | "write":
                prefix = f"s3://manuals/{tenant if kind == 'add source' else TENANTS[number]}/{number}/"
                body = {"kind": "s3", "prefix": prefix, "sourceId": source_id(number)}
                answer = await self.served.post(f"{path}/sources", body, *PERMISSIONS)
                if answer.status_code == 201:
                    assert prefix.startswith(f"s3://manuals/{tenant}/")
                    self.expected_sources.setdefault(owner, set()).add(source_id(number))
            case "delete source":
                await self.served.request("DELETE", f"{path}/sources/{source_id(number)}", *PERMISSIONS)
                self.expected_sources.get(owner, set()).discard(source_id(number))
            case "refresh":
                await self.served.request("POST", f"{path}/sources/{source_id(number)}/refresh", *PERMISSIONS)
                await self.served.refreshes.refresh_due(seconds=30)

    async def check(self) -> None:
        await self.served.refreshes.refresh_due(seconds=30)
        for tenant in TENANTS:
            for agent in AGENTS:
                self.harness.ada = Scope(tenant, "ada")
                listed, _ = await self.served.items(f"/agents/{agent}/documents", *PERMISSIONS, limit=100)
                own = {item["id"] for item in listed if item["sourceId"] is None}
                assert own == self.expected.get((tenant, agent), set())
                sources, _ = await self.served.items(f"/agents/{agent}/sources", *PERMISSIONS, limit=100)
                assert {source["id"] for source in sources} == self.expected_sources.get((tenant, agent), set())
                assert {item["sourceId"] for item in listed} - {None} <= {source["id"] for source in sources}
                assert all(source["prefix"].startswith(f"s3://manuals/{tenant}/") for source in sources)
                for number in range(3):
                    answer = await self.served.get(f"/agents/{agent}/documents/{document_id(number)}", *PERMISSIONS)
                    assert (answer.status_code == 200) == (document_id(number) in own)
                    if answer.status_code == 200:
                        assert answer.json()["name"] == f"{tenant}-{agent}-{number}.pdf"
        for (tenant, agent, _, _), files in self.files.bodies.items():
            # What was read of a bucket is stored for the tenant that it belongs to.
            assert files["original"].decode().startswith(f"{tenant} "), agent


@given(actions)
def test_everybody_sees_and_changes_exactly_their_own(played: list[Action]) -> None:
    async def run() -> None:
        world = World()
        for action in played:
            await world.play(action)
        await world.check()

    asyncio.run(run())
