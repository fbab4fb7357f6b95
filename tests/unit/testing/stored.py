"""Tests made of conversations that a served application has stored, and a tool that needs an approval."""

from __future__ import annotations

import asyncio

import httpx

from baton_project.project import Project
from baton_testing.project_agents import AgentPlace
from baton_testing.recordings.stored_thread import StoredThread, read_thread
from baton_testing.recordings.thread_recording import Written, write_test
from tests.unit.api.served import Served

REFUND = """

async def refund(number: str, euros: float) -> str:
    return "the tool itself answers"
"""
REFUND_TOOL = """
tools:
  - type: python
    name: refund
    description: Refund an order.
    entry_point: shop_tools.orders:refund
    requires_approval: true
"""


async def read_stored(served: Served, *permissions: str) -> StoredThread:
    token = ",".join([served.harness.ada.tenant_id, "ada", *permissions])
    transport, headers = httpx.ASGITransport(served.app), {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://baton.test", headers=headers) as client:
        return await (await read_thread(client, served.harness.thread_id)).redact()


async def make_recording(project: Project, served: Served, *permissions: str) -> Written:
    agent_place = AgentPlace.of(project.folder, project.agents, project.tools, project.make_environment())
    result = await read_stored(served, *permissions)

    def write() -> Written:
        with agent_place.enter():
            return write_test(result, agent_place, project.folder / "tests" / "complaint.yaml")

    return await asyncio.to_thread(write)
