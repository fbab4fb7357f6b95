"""A2A tasks that wait for an answer."""

from __future__ import annotations

from typing import Any

from tests.fakes.chat_model import Answer
from tests.harness.wiki import delete
from tests.unit.api.a2a_client import A2AServed, Json, blocking, message


async def send(served: A2AServed, sent_message: Json, **configuration: Any) -> Json:
    """The task after a message whose sender waits for the answer."""
    task: Json = (await served.call("message/send", blocking(sent_message, **configuration)))["result"]
    return task


async def open_task(served: A2AServed, sent_message: Json, **configuration: Any) -> Json:
    """The task after a message which the agent answers with "Hello there.", and with a call that needs approval."""
    served.harness.model.script(Answer.calling(delete("home"), text="Hello there."))
    return await send(served, sent_message, **configuration)


async def ask_for_approval(served: A2AServed, *pages: str) -> Json:
    """A task that asks for approval."""
    served.harness.model.script(Answer.calling(*map(delete, pages or ("home",)), text="May I?"))
    return await send(served, message("Delete it.", "m-1"))
