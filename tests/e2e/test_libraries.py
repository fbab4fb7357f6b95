"""A library of the project in the running product: every tenant's users find it, and no tenant can change it."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from baton_deployment.libraries import ProjectDocuments, bring
from tests.e2e.cloud import AGENTS, RunningCloud
from tests.e2e.documents import HANDBOOK, poll
from tests.e2e.fixtures import NewUser
from tests.e2e.problems import check_problem
from tests.e2e.users import Json, User

EVERYTHING = ("agent:write", "document:write", "tenant:manage", "user:manage", "audit:read", "thread:read_all")
PORTER = {"name": "Porter", "description": "Opens.", "systemPrompt": "Open.", "libraries": ["house"]}
QUESTION = {"query": "When is the gate closed?"}
ANNOUNCED = {"name": "own.txt", "contentType": "text/plain", "size": len(HANDBOOK.encode())}


async def find(user: User, agent_id: str = "porter") -> list[Json]:
    answer = await user.post(f"/agents/{agent_id}/knowledge/search", QUESTION)
    assert answer.status_code == 200, answer.text
    items: list[Json] = answer.json()["items"]
    return items


@pytest.fixture
async def admins(new_user: NewUser, tenant: str) -> list[User]:
    """Administrators of two tenants, whose agents list the library."""
    admins = [new_user("admin", *EVERYTHING), new_user("admin", *EVERYTHING, tenant=f"{tenant}-2")]
    for admin in admins:
        response = await admin.request("PUT", "/agents/porter", body=PORTER)
        assert response.status_code == 201, response.text
    return admins


async def test_every_tenant_finds_a_library_and_no_administrator_can_change_it(
    cloud: RunningCloud, admins: list[User], tenant: str
) -> None:
    for admin in admins:
        [result] = await poll(lambda admin=admin: find(admin), bool)
        assert "The gate is closed at eleven" in result["text"]
        assert (result["source"]["library"], result["source"]["agentId"]) == ("house", "porter")
        [library] = (await admin.read("/agents/porter/libraries"))["items"]
        assert (library["name"], library["documents"]) == ("house", 1)
    admin, document_id = admins[0], result["source"]["documentId"]
    [listed] = (await admin.read("/agents/porter/libraries/house/documents"))["items"]
    assert (listed["id"], listed["status"]) == (document_id, "ready")

    unknown = await admin.request("PUT", "/agents/porter2", body={**PORTER, "libraries": ["hause"]})
    check_problem(unknown, 422, "invalid_agent")
    assert "did you mean house?" in unknown.text
    check_problem(await admin.get("/agents/assistant/libraries/house/documents"), 404, "unknown_library")
    for agent_id in ("porter", "assistant"):
        check_problem(
            await admin.request("DELETE", f"/agents/{agent_id}/documents/{document_id}"), 404, "unknown_document"
        )
    for location in (
        "/agents/house/documents",
        "/agents/~project/documents",
        "/agents/porter/libraries/house/documents",
    ):
        answer = await admin.post(location, ANNOUNCED)
        assert answer.status_code in (404, 405), (location, answer.text)

    # An agent of the tenant with the library's name, and a document of it with the id of the library's.
    assert (await admin.request("PUT", "/agents/house", body={**PORTER, "libraries": []})).status_code == 201
    own = await admin.post("/agents/house/documents", {**ANNOUNCED, "documentId": document_id})
    assert own.status_code == 201, own.text
    assert (await admin.request("DELETE", f"/agents/house/documents/{document_id}")).status_code == 202
    assert (await admin.request("DELETE", "/users/admin/memory")).status_code in (200, 202, 204)
    exported = await admin.get("/users/admin/export")
    assert "The gate is closed" not in exported.text
    for claimed in ("~project", "~project/x"):
        forged = User(cloud, admin.client, claimed, "admin", cloud.token(claimed, "admin", *EVERYTHING))
        check_problem(await forged.get("/agents"), 401, "unauthorized")
    for admin in admins:
        assert len(await find(admin)) == 1
    assert not [item for item in cloud.items(tenant) if "house/rules" in str(item)]


@pytest.mark.nightly
async def test_a_deployment_brings_a_library_replaces_and_removes_it(
    cloud: RunningCloud, admins: list[User], tmp_path: Path
) -> None:
    libraries, output = tmp_path / "libraries", list[str]()
    shutil.copytree(AGENTS / "libraries", libraries)
    extra = libraries / "pool" / "pool.md"
    extra.parent.mkdir()
    project = ProjectDocuments(libraries, {"pool": "pool:read"})

    async def deploy() -> str:
        await asyncio.to_thread(bring, lambda event: cloud.invoke("IngestionFunction", event), project, output.append)
        return output[-1]

    await poll(lambda: find(admins[0]), bool)
    extra.write_text("# Pool\n\nThe water of the pool has 27 degrees.\n")
    assert await deploy() == "Libraries: 1 uploaded, 1 unchanged, 0 removed, 0 failed"
    extra.write_text("# Pool\n\nThe water of the pool has 28 degrees.\n")
    assert await deploy() == "Libraries: 1 uploaded, 1 unchanged, 0 removed, 0 failed"
    assert await deploy() == "Libraries: 0 uploaded, 2 unchanged, 0 removed, 0 failed"
    shutil.rmtree(extra.parent)
    assert await deploy() == "Libraries: 0 uploaded, 1 unchanged, 1 removed, 0 failed"
    assert len(await find(admins[0])) == 1
