"""A session keeps the versions of its agents, whatever happens in it, and every answer shows it with these."""

from __future__ import annotations

import ast
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import baton
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import Thread
from baton.ports.threads.leases import LeaseRequest
from baton.tenants.tenant_copies import FRESH
from tests.fakes.chat_model import Answer
from tests.harness.due import DueHarness
from tests.harness.handoffs import MAKER, advance, calling, texts, transfer
from tests.harness.harness import Harness
from tests.harness.sessions import close
from tests.harness.sockets import Socketed
from tests.harness.wiki import DELETE, answer, delete, yes
from tests.unit.api.a2a_client import A2AServed, blocking, message
from tests.unit.api.authors import TUTOR, Authors
from tests.unit.api.served import Served

AIDE = TUTOR | {"name": "Aide", "main": False}


class Tenant:
    """A tenant whose agents change between the messages of a conversation."""

    def __init__(self, harness: Harness | None = None) -> None:
        self.harness = harness or Harness()
        self.served = Served(self.harness)

    async def put(self, prompt: str, agent_id: str = "tutor", *, base: Any = TUTOR, **fields: Any) -> None:
        """Put a version with this prompt in force, and let the workers' copies become old."""
        stored = await Authors(self.served).put(agent_id, base | {"systemPrompt": prompt} | fields)
        assert stored.status_code in (200, 201), stored.text
        self.harness.clock.advance(FRESH.total_seconds())

    async def say(self, message_id: str, content: str = "Hello", **fields: Any) -> str:
        """Say something; return the last prompt."""
        await self.harness.say(message_id, content, agent_id="tutor", **fields)
        return self.prompt

    @property
    def prompt(self) -> str:
        """The newest of the prompts, as text."""
        return str(self.harness.model.requests[-1])


@pytest.fixture
def tenant() -> Tenant:
    return Tenant()


async def test_an_approved_call_goes_on_with_the_version_that_has_asked(tenant: Tenant) -> None:
    async def remove(page: str) -> str:
        return f"{page} is gone."

    tenant.harness.tools.add("delete", remove, parameters=DELETE, requires_approval=True)
    tenant.harness.model.script(Answer.calling(delete("home")))
    tool = {"type": "http", "name": "delete", "description": "Deletes.", "url": "https://wiki.example/delete"}
    await tenant.put("Old.", tools=[tool])
    turn = await tenant.harness.say("m1", "Delete it.", agent_id="tutor")
    await tenant.put("New.")
    await answer(tenant.harness, yes(turn.last["outcome"]["interrupts"][0]))
    assert "Old." in tenant.prompt
    assert "is gone" in tenant.prompt


async def test_a_workflow_goes_on_in_the_version_that_has_begun_it(tenant: Tenant) -> None:
    workflow = MAKER.model_dump(by_alias=True, exclude_unset=True)["workflow"]
    maker = TUTOR | {"name": "Maker", "main": False, "workflow": workflow}
    await tenant.put("Make it, old.", "maker", base=maker)
    await tenant.put("Old.", handoffs=[{"agent": "maker"}])
    tenant.harness.model.script(transfer(), "Name?")
    await tenant.say("m1")
    first, *others = workflow["states"]
    await tenant.put(
        "Make it, new.", "maker", base=maker, workflow={**workflow, "states": [{**first, "label": "Other"}, *others]}
    )
    state = (await tenant.served.get(f"/threads/{tenant.harness.thread_id}")).json()["state"]["workflow"]
    listed, _ = await tenant.served.items("/workflows")
    assert (state["label"], listed[0]["label"]) == ("Asking", "Asking")
    tenant.harness.model.script(advance("BUILD", name="Box"), "Building.")
    turn = await tenant.harness.say("m2", "Box")
    assert texts(turn) == [("Maker", "Building.")]
    assert "Make it, old." in tenant.prompt


async def test_a_list_of_workflows_reads_each_conversation_once(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow = MAKER.model_dump(by_alias=True, exclude_unset=True)["workflow"]
    maker = TUTOR | {"name": "Maker", "main": False, "workflow": workflow}
    await tenant.put("Make it.", "maker", base=maker)
    await tenant.put("Hello.", handoffs=[{"agent": "maker"}])
    harness, store = tenant.harness, tenant.harness.store
    for number in range(2):
        harness.thread_id = harness.clock.new_id()
        harness.model.script(transfer(), "Name?")
        await tenant.say(f"m{number}")
    first, *_ = await harness.workflows.list_unfinished(harness.ada)
    lease = await store.acquire(harness.ada, LeaseRequest(first.workflow.thread_id))
    await harness.workflows.put(lease, replace(first.workflow, id="another"))
    read: list[str] = []
    get_thread = store.get_thread

    async def count(scope: Scope, thread_id: str) -> Thread:
        read.append(thread_id)
        return await get_thread(scope, thread_id)

    monkeypatch.setattr(store, "get_thread", count)
    listed, _ = await tenant.served.items("/workflows")
    assert (len(listed), len(read), len(set(read))) == (3, 2, 2)


@pytest.mark.parametrize("branch", [{"from": "m1", "regenerate": True}, {"from": "m1"}])
async def test_another_branch_of_a_session_has_its_version(tenant: Tenant, branch: dict[str, Any]) -> None:
    await tenant.put("Old.")
    await tenant.say("m1")
    await tenant.put("New.")
    content = "Hello" if "regenerate" in branch else "Hello, but better"
    assert "Old." in await tenant.say("m2", content, branch=branch)


async def test_work_in_the_background_has_the_versions_of_the_turn_that_has_begun_it() -> None:
    due = DueHarness()
    tenant = Tenant(due)
    await tenant.put("Find out, old.", "aide", base=AIDE)
    await tenant.put("Old.", subAgents=["aide"], backgroundAgents=["aide"])
    due.model.script(calling("ask_aide", message="Why is the sky blue?"), "I am on it.")
    await tenant.say("m1")
    await tenant.put("Find out, new.", "aide", base=AIDE)
    await tenant.put("New.", subAgents=["aide"], backgroundAgents=["aide"])
    due.model.script("Because of Rayleigh.", "It is Rayleigh scattering.")
    while await due.run_queue():
        pass
    worked, reported = map(str, due.model.requests[-2:])
    assert "Find out, old." in worked
    assert "Old." in reported


async def test_a_schedule_enters_a_running_session_with_its_version() -> None:
    due = DueHarness()
    tenant = Tenant(due)
    await tenant.put("Old.", schedules={"allowed": True})
    await tenant.say("m1")
    await due.remind(agent_id="tutor")
    await tenant.put("New.")
    assert await due.pass_time(hours=1) == 1
    assert "Old." in tenant.prompt


async def test_a_specialist_has_the_version_in_force_when_it_first_takes_part(tenant: Tenant) -> None:
    await tenant.put("Oldest aide.", "aide", base=AIDE)
    await tenant.put("Old.", handoffs=[{"agent": "aide"}])
    await tenant.say("m1")
    await tenant.put("Old aide.", "aide", base=AIDE)
    tenant.harness.model.script(transfer("aide"), "I am the aide.")
    assert "Old aide." in await tenant.say("m2")
    await tenant.put("New aide.", "aide", base=AIDE)
    assert "Old aide." in await tenant.say("m3")
    await close(tenant.harness)
    tenant.harness.model.script(transfer("aide"), "I am the aide.")
    assert "New aide." in await tenant.say("m4")


async def test_a_desk_is_always_as_in_force(tenant: Tenant) -> None:
    hours = {"zone": "UTC", "week": {"thu": "09:00-17:00"}}
    await tenant.put("Old.")
    await tenant.say("m1")
    desk = {"name": "Support", "description": "People.", "kind": "desk"}
    stored = await Authors(tenant.served).put("tutor", desk | {"desk": {"hours": hours}})
    assert stored.status_code == 200, stored.text
    tenant.harness.clock.advance(FRESH.total_seconds())
    thread = await tenant.harness.store.get_thread(tenant.harness.ada, tenant.harness.thread_id)
    agents = await tenant.harness.agents.in_session(tenant.harness.ada, thread)
    assert agents.get_answering(thread).desk is not None


Door = Callable[[Tenant], Awaitable[str]]


async def _read(tenant: Tenant) -> str:
    return str((await tenant.served.get(f"/threads/{tenant.harness.thread_id}")).json()["state"]["activeAgent"]["name"])


async def _list(tenant: Tenant) -> str:
    [thread], _ = await tenant.served.items("/threads")
    return str(thread["state"]["activeAgent"]["name"])


async def _rename(tenant: Tenant) -> str:
    thread = (await tenant.served.patch(f"/threads/{tenant.harness.thread_id}", {"title": "Sums"})).json()
    return str(thread["state"]["activeAgent"]["name"])


async def _send(tenant: Tenant) -> str:
    sent = await tenant.served.post("/messages", {"message": "On.", "sessionId": tenant.harness.thread_id})
    return str(sent.json()["state"]["activeAgent"]["name"])


async def _watch(tenant: Tenant) -> str:
    turn = await tenant.harness.say("m2")
    snapshot = next(event for event in turn.events if event.type == "STATE_SNAPSHOT")
    return str(snapshot.body["snapshot"]["activeAgent"]["name"])


async def _resume(tenant: Tenant) -> str:
    socket = Socketed(tenant.harness)
    await socket.send("resume", after=0)
    snapshot = next(event for event in socket.take_events() if event["type"] == "STATE_SNAPSHOT")
    return str(snapshot["snapshot"]["activeAgent"]["name"])


async def _export(tenant: Tenant) -> str:
    lines = (await tenant.served.get("/users/me/export")).text.splitlines()
    thread = next(line for line in map(json.loads, lines) if line["type"] == "thread")
    return str(thread["state"]["activeAgent"]["name"])


async def _fork(tenant: Tenant) -> str:
    fork = await tenant.served.post(f"/threads/{tenant.harness.thread_id}/fork", {"agentId": "tutor"})
    return str(fork.json()["state"]["activeAgent"]["name"])


@pytest.mark.parametrize("door", [_read, _list, _rename, _send, _watch, _resume, _export, _fork])
async def test_every_answer_shows_a_session_with_its_version(tenant: Tenant, door: Door) -> None:
    await tenant.put("Old.", name="Tutor")
    await tenant.say("m1")
    await tenant.put("New.", name="Coach")
    assert await door(tenant) == "Tutor"


async def test_a_task_of_a2a_names_the_agent_by_its_version() -> None:
    served = A2AServed()
    tenant = Tenant(served.harness)
    await tenant.put("Old.", name="Tutor")
    task = (await served.call("message/send", blocking(message("Hello")), path="/a2a/tutor"))["result"]
    await tenant.put("New.", name="Coach")
    task = (await served.call("tasks/get", {"id": task["id"]}, path="/a2a/tutor"))["result"]
    [conversation] = task["metadata"].values()
    assert conversation["agent_name"] == "Tutor"


WITHOUT_SESSION = {
    "api/a2a/bindings/router.py": "the card, and the agent of a new conversation",
    "api/a2a/cards.py": "cards",
    "api/a2a/wire.py": "a task whose conversation has not begun",
    "api/mcp/server.py": "the list of agents",
    "api/memory/skills.py": "agents that make skills",
    "api/tenants/personal_data.py": "records that show no agent",
    "api/threads/access.py": "workflows of agents that ship, and of forgotten conversations",
    "entry/controls.py": "a desk for a new conversation",
    "threads/background/background_work.py": "tasks of forgotten conversations",
    "threads/desks/desk_access.py": "desks, which are always as in force",
    "threads/handoffs/sandboxes.py": "a sandbox begins with the version in force",
}
"""The modules that ask for agents in force, and why none has a session."""


def test_callers_with_a_conversation_ask_for_the_agents_of_its_session() -> None:
    root = Path(baton.__file__).parent
    asking = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "in_force"
    }
    assert asking == set(WITHOUT_SESSION)
