"""A stored conversation becomes a test: without personal data, with the answers of then."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest
import yaml

from baton.adapters.agent_files import read_agent
from baton_project.project import Project
from baton_testing.errors import CannotRun
from baton_testing.project_agents import AgentPlace
from baton_testing.stored_thread import StoredThread, read_thread
from baton_testing.thread_recording import Written, write_test
from tests.harness.handoffs import calling
from tests.harness.harness import Harness
from tests.unit.api.served import Served
from tests.unit.project.conftest import edited
from tests.unit.testing.command import run

MAIL = "ada.lovelace@example.com"


async def complaint(project: Project) -> Served:
    """A user asked for an order, and got nonsense."""
    files = [read_agent(project.agents / name)[1] for name in ("assistant.yaml", "orders.yaml")]
    harness = Harness(assistant=files[0], others=tuple(files[1:]))

    async def order_status(number: str) -> str:
        return f"{number} of {MAIL} is lost."

    parameters = {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]}
    harness.tools.add("order_status", order_status, parameters=parameters)
    harness.model.script(
        f"Noted, {MAIL}.",
        calling("ask_orders", message=f"Where is A-1001 of {MAIL}?"),
        calling("order_status", number="A-1001"),
        "It is lost.",
        "Orders are never lost.",
    )
    await harness.say("m1", f"I am {MAIL}.", time_zone="Asia/Tokyo")
    harness.clock.advance(3600)
    await harness.say("m2", "Where is A-1001?")
    return Served(harness)


async def stored(served: Served, *permissions: str) -> StoredThread:
    token = ",".join([served.harness.ada.tenant_id, "ada", *permissions])
    transport, headers = httpx.ASGITransport(served.app), {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://baton.test", headers=headers) as client:
        return await (await read_thread(client, served.harness.thread_id)).redact()


async def made(project: Project, served: Served, *permissions: str) -> Written:
    place = AgentPlace.of(project.folder, project.agents, project.tools, project.environment())
    found = await stored(served, *permissions)

    def write() -> Written:
        with place.enter():
            return write_test(found, place, project.folder / "tests" / "complaint.yaml")

    return await asyncio.to_thread(write)


@pytest.mark.parametrize("permissions", [("context:inspect",), ()], ids=["with the inspector", "without"])
async def test_a_complaint_becomes_a_test_that_passes_as_it_was_and_fails_as_it_should_be(
    project: Project, permissions: tuple[str, ...]
) -> None:
    written = await made(project, await complaint(project), *permissions)
    assert written.result.passed
    assert yaml.safe_load(written.test.read_text())["user"]["time_zone"] == "Asia/Tokyo"
    assert "Today is Thursday, 1 March 2040 (Asia/Tokyo)." in written.cassette.read_text()
    [test] = yaml.safe_load(written.test.read_text())["conversations"]
    assert [step.get("say", step.get("wait")) for step in test["steps"]] == [
        "I am [email].",
        "60 minutes",
        "Where is A-1001?",
    ]
    assert {"tool": "order_status", "arguments": {"number": "A-1001"}} in test["steps"][2]["expect"]
    assert (await asyncio.to_thread(run, project, str(written.test))).code == 0
    edited(written.test, "    - consulted:", "    - says: is lost\n    - consulted:")
    ran = await asyncio.to_thread(run, project, str(written.test))
    assert ran.code == 1
    assert "happened: they said 'Orders are never lost.'" in ran.output


async def test_no_personal_data_is_written(project: Project) -> None:
    written = await made(project, await complaint(project), "context:inspect")
    for file in (written.test, written.cassette):
        assert "lovelace" not in file.read_text()
    assert "A-1001 of [email] is lost." in written.test.read_text()


async def test_a_file_that_is_there_is_not_overwritten(project: Project) -> None:
    served = await complaint(project)
    first = (await made(project, served)).test
    text = first.read_text()
    with pytest.raises(CannotRun, match="is there already"):
        await made(project, served)
    assert first.read_text() == text


async def test_a_conversation_that_cannot_be_read_says_what_is_needed(project: Project) -> None:
    served = await complaint(project)
    served.harness.thread_id = "another"
    with pytest.raises(CannotRun, match="BATON_TOKEN"):
        await stored(served)


def test_a_server_that_cannot_be_reached_is_reported(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_TOKEN", "token")
    ran = run(project, "--from", "some-thread", "--url", "http://127.0.0.1:9")
    assert ran.code == 2
    assert "http://127.0.0.1:9 cannot be reached" in ran.errors
    assert not list(Path(project.folder / "tests").glob("some-thread*"))
