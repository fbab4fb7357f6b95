"""What a run begins with."""

from __future__ import annotations

from dataclasses import replace

from baton.conversation.requests import TurnRequest
from baton.conversation.run_context import RunServices
from baton.domain.interrupt import PendingInterrupts
from baton.domain.message import Role, StoredMessage
from baton.domain.thread import Run, Thread
from baton.memory.context import NOT_CARRIED_OUT, message_tokens


def opening_message(
    request: TurnRequest, thread: Thread, run: Run, services: RunServices, answered: PendingInterrupts | None
) -> StoredMessage:
    """The first message of a run: the user's; or, where it goes on with what had waited, the first result of that.

    The result is not known yet, so a placeholder keeps its place: by it the run is found if its worker dies.
    """
    opening = StoredMessage(
        id=request.message_id,
        role=Role.USER,
        content=request.content,
        ordinal=thread.next_ordinal,
        run_id=run.run_id,
        timestamp=services.clock.now(),
        tokens=message_tokens(request.content, services.counter),
        attempt=run.attempt,
    )
    if answered is None:
        return opening
    first = answered.interrupts[0]
    return replace(
        opening,
        role=Role.TOOL,
        content=NOT_CARRIED_OUT,
        tokens=message_tokens(NOT_CARRIED_OUT, services.counter),
        agent_id=answered.agent_id,
        is_tool_result=True,
        tool_name=first.tool_name,
        tool_call_id=first.tool_call_id,
    )
