"""The reference server of A2A 0.3 as a program, in a separate environment: ``tests/e2e/a2a/requirements.txt``.

It prints the address at which it serves. Its agent does what each message says: ``verb word word ...``.
"""

# mypy: ignore-errors

import asyncio
import socket

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, DataPart, FilePart, FileWithBytes, Part, TextPart
from a2a.utils import new_task

FORM = {"type": "object", "properties": {"seats": {"type": "integer"}}}


def text(words):
    return Part(root=TextPart(text=words))


class Agent(AgentExecutor):
    """An agent that remembers each task's messages. It works for as long as it takes until it is asked about that."""

    def __init__(self):
        self._texts_by_task = {}
        self._gates = {}

    async def execute(self, context, event_queue):
        if context.current_task is None:
            await event_queue.enqueue_event(new_task(context.message))
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        received = self._texts_by_task.setdefault(context.task_id, [])
        reported = [part.root for part in context.message.parts]
        words = next((part.text for part in reversed(reported) if part.kind == "text"), "")
        received.append(words or next((str(part.data) for part in reported if part.kind == "data"), "a file"))
        verb, _, rest = words.partition(" ")
        match verb:
            case "ask":
                await updater.requires_input(updater.new_agent_message([text(rest)]), final=True)
            case "form":
                await updater.requires_input(updater.new_agent_message([Part(root=DataPart(data=FORM))]), final=True)
            case "sign-in":
                await updater.requires_auth(updater.new_agent_message([text(rest)]), final=True)
            case "file":
                body = FileWithBytes(bytes="aGk=", name="a.txt", mime_type="text/plain")
                await updater.complete(updater.new_agent_message([Part(root=FilePart(file=body))]))
            case "work":
                await updater.start_work(updater.new_agent_message([text("Looking it up")]))
                await updater.add_artifact([text("Half ")], artifact_id="a1")
                await self._gates.setdefault(rest, asyncio.Event()).wait()
                await updater.add_artifact([text("and half.")], artifact_id="a1", append=True)
                await updater.complete()
            case "open":
                self._gates.setdefault(rest, asyncio.Event()).set()
                await updater.complete(updater.new_agent_message([text("Open.")]))
            case _:
                await updater.complete(updater.new_agent_message([text("; ".join(received))]))

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def main():
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    card = AgentCard(
        name="Older",
        description="Follows its instructions.",
        url=url,
        version="1",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain", "application/json"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="all", name="All", description="All.", tags=["all"])],
    )
    handler = DefaultRequestHandler(Agent(), InMemoryTaskStore())
    app = A2AStarletteApplication(agent_card=card, http_handler=handler).build()
    print(url, flush=True)  # noqa: T201 - anybody who started the process reads it
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


if __name__ == "__main__":
    main()
