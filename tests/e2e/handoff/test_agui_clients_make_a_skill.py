"""The AG-UI project's own clients, of both lines, go through a whole guided workflow."""

from __future__ import annotations

import pytest

from tests.e2e.agui_checks import check_agrees, check_heard
from tests.e2e.agui_clients import AgUiClient, client, clients_folder, running_clients
from tests.e2e.handoff.workflow_states import REQUEST, STATES
from tests.e2e.sockets import new_id
from tests.e2e.users import User

pytestmark = pytest.mark.nightly

__all__ = ["client", "clients_folder", "running_clients"]


async def test_a_skill_is_made_by_a_client_of_either_line(client: AgUiClient, ada: User) -> None:
    thread_id = new_id()
    steps: list[str] = []
    for text in (REQUEST, "Post them to #ops.", "send slack alert", "looks good", "yes"):
        received = await client.run(ada, thread_id, text)
        check_heard(received)
        # The first step of a run is the one that the conversation is in.
        steps += [event["stepName"] for event in received.of_type("STEP_STARTED") if event["stepName"] not in steps]
        await check_agrees(received, ada, thread_id)
    assert steps == STATES
    assert received.last == "Great, your 'Slack Alert' skill is now active."
    notices = [message["activityType"] for message in received.messages if message["role"] == "activity"]
    assert notices == ["handoff", "return"]
