"""The reference client of A2A 0.3 as a program. It runs in a separate environment (``requirements.txt``)."""

# mypy: ignore-errors

import asyncio
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    DataPart,
    GetTaskPushNotificationConfigParams,
    Message,
    Part,
    PushNotificationConfig,
    Role,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TextPart,
)
from conversing import Program


def as_json(event):
    """An event of the client: a task with the update that changed it."""
    task, update = event
    message = task.status.message
    return {
        "kind": update.kind if update is not None else "task",
        "taskId": task.id,
        "contextId": task.context_id,
        "state": task.status.state.value,
        "text": text_of(message.parts) if message is not None else "",
        "data": [part.root.data for part in message.parts if part.root.kind == "data"] if message is not None else [],
        "artifacts": [text_of(artifact.parts) for artifact in task.artifacts or []],
        "history": [text_of(item.parts) for item in task.history or []],
    }


def text_of(parts):
    return "".join(part.root.text for part in parts if part.root.kind == "text")


class Older(Program):
    async def events(
        self, do, url, token, streaming=True, text=None, data=None, task_id=None, context_id=None, hook=None
    ):
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:
            card = await A2ACardResolver(http, url).get_agent_card()
            config = ClientConfig(streaming=streaming, httpx_client=http)
            if hook is not None and do == "say":
                config.push_notification_configs = [PushNotificationConfig(url=hook, token="its token")]
            client = ClientFactory(config).create(card)
            if do == "say":
                part = TextPart(text=text) if data is None else DataPart(data=data)
                message = Message(
                    message_id=str(uuid.uuid4()),
                    role=Role.user,
                    parts=[Part(root=part)],
                    task_id=task_id,
                    context_id=context_id,
                )
                async for event in client.send_message(message):
                    yield as_json(event)
            elif do == "resume":
                async for event in client.resubscribe(TaskIdParams(id=task_id)):
                    yield as_json(event)
            elif do == "get":
                yield as_json((await client.get_task(TaskQueryParams(id=task_id)), None))
            elif do == "cancel":
                yield as_json((await client.cancel_task(TaskIdParams(id=task_id)), None))
            elif do == "notify":
                options = PushNotificationConfig(id="mine", url=hook, token="its token")
                config = TaskPushNotificationConfig(task_id=task_id, push_notification_config=options)
                stored = await client.set_task_callback(config)
                request = GetTaskPushNotificationConfigParams(id=task_id, push_notification_config_id="mine")
                assert stored == config
                # Secrets of receivers are shown by no reading.
                visible = config.model_copy(
                    update={"push_notification_config": options.model_copy(update={"token": None})}
                )
                assert await client.get_task_callback(request) == visible
                yield {"id": stored.push_notification_config.id, "url": stored.push_notification_config.url}
            elif do == "stop notifying":
                params = {"id": task_id, "pushNotificationConfigId": "mine"}
                body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/pushNotificationConfig/delete", "params": params}
                assert (await http.post(card.url, json=body)).json()[
                    "result"
                ] is None  # the client has no method for it
            elif do == "card":
                yield {"name": card.name, "skills": [skill.id for skill in (await client.get_card()).skills]}


if __name__ == "__main__":
    asyncio.run(Older().run())
