"""A2A tasks that wait for an answer."""

from __future__ import annotations

from typing import Any

from tests.fakes.chat_model import Answer
from tests.harness.wiki import delete
from tests.unit.api.a2a_client import A2AServed, Json, blocking, message


async def sent(served: A2AServed, said: Json, **configuration: Any) -> Json:
    """The task after a message whose sender waits for the answer."""
    task: Json = (await served.call("message/send", blocking(said, **configuration)))["result"]
    return task


async def opened(served: A2AServed, said: Json, **configuration: Any) -> Json:
    """The task after a message which the agent answers with "Hello there.", and with a call that needs approval."""
    served.harness.model.script(Answer.calling(delete("home"), text="Hello there."))
    return await sent(served, said, **configuration)


async def asked(served: A2AServed, *pages: str) -> Json:
    """A task that asks for approval."""
    served.harness.model.script(Answer.calling(*map(delete, pages or ("home",)), text="May I?"))
    return await sent(served, message("Delete it.", "m-1"))
