"""Baton: a client of a local cloud over its WebSocket, as the chat widget is."""

import json
import os

import httpx
from line_protocol import serve
from websockets.asyncio.client import connect

URL, TOKEN = os.environ["BATON_URL"], os.environ["BATON_TOKEN"]
connections = []


async def ask(session, message, text):
    if not connections:
        subprotocols = ["baton.v1", TOKEN]
        address = URL.replace("http", "ws", 1) + "/ws"
        connections.append(await connect(address, subprotocols=subprotocols, proxy=None))
    command = {"action": "message", "threadId": session, "messageId": message, "content": text}
    await connections[0].send(json.dumps(command))
    answers = False  # whether the events are those of this message's run, not of another writer's
    while True:
        received = json.loads(await connections[0].recv())
        for event in received if isinstance(received, list) else [received]:
            if event["type"] == "RUN_STARTED":
                answers = event["metadata"]["messageId"] == message
            elif not answers:
                continue
            elif event["type"] == "TEXT_MESSAGE_CONTENT":
                yield event["delta"]
            elif event["type"] == "RUN_ERROR":
                raise RuntimeError(event["message"])
            elif event["type"] == "RUN_FINISHED":
                return


async def read_history(session):
    async with httpx.AsyncClient(base_url=URL, trust_env=False, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        answer = await client.get(f"/v1/threads/{session}/messages")
        if answer.status_code == httpx.codes.NOT_FOUND:
            return []
        items = answer.raise_for_status().json()["items"]
    return [(item["role"], item.get("content") or "") for item in items]


serve(ask, read_history)
