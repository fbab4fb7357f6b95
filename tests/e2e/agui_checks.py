"""Checks of the events that AG-UI clients receive."""

from __future__ import annotations

from tests.e2e.agui_clients import Heard, essence
from tests.e2e.users import User


def check_heard(heard: Heard) -> None:
    """A whole run that the client could follow from RUN_STARTED to RUN_FINISHED."""
    assert heard.errors == []
    assert heard.warnings == []
    assert heard.types[:2] == ["RUN_STARTED", "STATE_SNAPSHOT"]
    assert heard.types[-1] == "RUN_FINISHED"


async def check_agrees(heard: Heard, user: User, thread_id: str) -> None:
    """The client has the conversation and the state that the store has."""
    said = [message for message in heard.messages if message["role"] in ("user", "assistant")]
    assert [essence(message) for message in said] == [essence(message) for message in await user.messages(thread_id)]
    assert heard.state == (await user.read(f"/threads/{thread_id}"))["state"]
