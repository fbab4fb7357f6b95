"""Checks of the events that AG-UI clients receive."""

from __future__ import annotations

from tests.e2e.agui_clients import Heard, select_shared_fields
from tests.e2e.users import User


def check_heard(received: Heard) -> None:
    """A whole run that the client could follow from RUN_STARTED to RUN_FINISHED."""
    assert received.errors == []
    assert received.warnings == []
    assert received.types[:2] == ["RUN_STARTED", "STATE_SNAPSHOT"]
    assert received.types[-1] == "RUN_FINISHED"


async def check_agrees(received: Heard, user: User, thread_id: str) -> None:
    """The client has the conversation and the state that the store has."""
    messages = [message for message in received.messages if message["role"] in ("user", "assistant")]
    assert [select_shared_fields(message) for message in messages] == [
        select_shared_fields(message) for message in await user.messages(thread_id)
    ]
    assert received.state == (await user.read(f"/threads/{thread_id}"))["state"]
