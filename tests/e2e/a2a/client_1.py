"""The reference client of A2A 1.x as a program. Its argument is the binding; without one it is JSON-RPC."""

# mypy: ignore-errors

import asyncio
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from conversing import Program
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value

BINDINGS = sys.argv[1:] or ["JSONRPC"]
STATES = {number: name.removeprefix("TASK_STATE_").lower().replace("_", "-") for name, number in TaskState.items()}


class Heard:
    """The task as a client keeps it from a stream's events."""

    def __init__(self):
        self.task = Task()

    def take(self, response):
        """Apply one event and print the task."""
        kind = response.WhichOneof("payload")
        if kind == "task":
            self.task = response.task
        elif kind == "status_update":
            self.task.status.CopyFrom(response.status_update.status)
        elif kind == "artifact_update":
            self._grow(response.artifact_update)
        return describe(self.task, {"task": "task", "status_update": "status-update"}.get(kind, "artifact-update"))

    def _grow(self, update):
        for artifact in self.task.artifacts:
            if artifact.artifact_id == update.artifact.artifact_id:
                if update.append:
                    artifact.parts.extend(update.artifact.parts)
                else:
                    artifact.CopyFrom(update.artifact)
                return
        self.task.artifacts.append(update.artifact)


def describe(task, kind):
    message = task.status.message
    return {
        "kind": kind,
        "taskId": task.id,
        "contextId": task.context_id,
        "state": STATES[task.status.state],
        "text": text_of(message.parts),
        "data": [MessageToDict(part.data) for part in message.parts if part.HasField("data")],
        "artifacts": [text_of(artifact.parts) for artifact in task.artifacts],
        "history": [text_of(item.parts) for item in task.history],
    }


def text_of(parts):
    return "".join(part.text for part in parts)


class Current(Program):
    async def events(
        self, do, url, token, streaming=True, text=None, data=None, task_id=None, context_id=None, hook=None
    ):
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:
            card = await A2ACardResolver(http, url).get_agent_card()
            config = ClientConfig(streaming=streaming, httpx_client=http, supported_protocol_bindings=BINDINGS)
            if hook is not None and do == "say":
                config.push_notification_config = TaskPushNotificationConfig(url=hook, token="its token")
            client = ClientFactory(config).create(card)
            received = Heard()
            if do == "say":
                part = Part(text=text) if data is None else Part(data=ParseDict(data, Value()))
                message = Message(
                    message_id=str(uuid.uuid4()),
                    role=Role.ROLE_USER,
                    parts=[part],
                    task_id=task_id or "",
                    context_id=context_id or "",
                )
                async for response in client.send_message(SendMessageRequest(message=message)):
                    yield received.take(response)
            elif do == "resume":
                # The stream stays until the task is final; here the end of the turn is waited for.
                async for response in client.subscribe(SubscribeToTaskRequest(id=task_id)):
                    yield received.take(response)
                    if response.WhichOneof(
                        "payload"
                    ) == "status_update" and response.status_update.status.state not in (
                        TaskState.TASK_STATE_SUBMITTED,
                        TaskState.TASK_STATE_WORKING,
                    ):
                        break
            elif do == "get":
                yield describe(await client.get_task(GetTaskRequest(id=task_id)), "task")
            elif do == "cancel":
                yield describe(await client.cancel_task(CancelTaskRequest(id=task_id)), "task")
            elif do == "notify":
                options = TaskPushNotificationConfig(task_id=task_id, id="mine", url=hook, token="its token")
                stored = await client.create_task_push_notification_config(options)
                assert stored == options
                # Secrets of receivers are shown by no reading.
                visible = TaskPushNotificationConfig(task_id=task_id, id="mine", url=hook)
                requests = GetTaskPushNotificationConfigRequest(task_id=task_id, id="mine")
                assert await client.get_task_push_notification_config(requests) == visible
                listed = ListTaskPushNotificationConfigsRequest(task_id=task_id)
                assert list((await client.list_task_push_notification_configs(listed)).configs) == [visible]
                yield {"id": stored.id, "url": stored.url}
            elif do == "stop notifying":
                requests = DeleteTaskPushNotificationConfigRequest(task_id=task_id, id="mine")
                await client.delete_task_push_notification_config(requests)
            elif do == "list":
                request = ListTasksRequest(page_size=1)
                while True:
                    page = await client.list_tasks(request)
                    for task in page.tasks:
                        yield describe(task, "task")
                    if not page.next_page_token:
                        return
                    request.page_token = page.next_page_token
            elif do == "card":
                extended = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
                yield {"name": card.name, "skills": [skill.id for skill in extended.skills]}


if __name__ == "__main__":
    asyncio.run(Current().run())
