"""A plain chat loop to compare with: ``uvicorn benchmarks.plain_loop:app``.

It does what a program does that needs nothing of Baton: it reads the conversation from DynamoDB (one request), asks the
model with the package ``openai``, streams the answer as server-sent events, and writes the conversation back (one
request). No token is verified, nothing is locked, and a worker that dies loses the turn.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from functools import cache
from typing import Any

import boto3
from openai import AsyncOpenAI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from baton_local.account import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY

MAX_MESSAGES = 60
"""The newest messages, which are kept and sent: about as many as Baton's budget holds of these."""
TABLE, ENDPOINT, MODEL_URL, SYSTEM_PROMPT = "PLAIN_TABLE", "PLAIN_ENDPOINT", "PLAIN_MODEL_URL", "PLAIN_SYSTEM_PROMPT"
"""Environment variables."""


@cache
def _dynamodb() -> Any:
    session = boto3.Session(ACCESS_KEY_ID, SECRET_ACCESS_KEY, region_name=REGION)
    return session.client("dynamodb", endpoint_url=os.environ[ENDPOINT])


@cache
def _model() -> AsyncOpenAI:
    return AsyncOpenAI(api_key="none", base_url=os.environ[MODEL_URL])


async def chat(request: Request) -> StreamingResponse:
    """Answer POST /chat."""
    asked = await request.json()
    return StreamingResponse(_answer(asked["thread"], asked["text"]), media_type="text/event-stream")


async def _answer(thread: str, text: str) -> AsyncIterator[str]:
    key = {"PK": {"S": f"plain#{thread}"}, "SK": {"S": "THREAD"}}
    table = os.environ[TABLE]
    found = await asyncio.to_thread(_dynamodb().get_item, TableName=table, Key=key, ConsistentRead=True)
    messages = json.loads(found["Item"]["messages"]["S"]) if "Item" in found else []
    messages.append({"role": "user", "content": text})
    stream: Any = await _model().chat.completions.create(
        model="benchmark",
        messages=[{"role": "system", "content": os.environ[SYSTEM_PROMPT]}, *messages],
        stream=True,
        temperature=0.3,
        stream_options={"include_usage": True},
    )
    answer = ""
    async for chunk in stream:
        delta = chunk.choices[0].delta.content if chunk.choices else None
        if delta:
            answer += delta
            yield f"data: {json.dumps({'delta': delta})}\n\n"
    messages.append({"role": "assistant", "content": answer})
    item = {**key, "messages": {"S": json.dumps(messages[-MAX_MESSAGES:])}}
    await asyncio.to_thread(_dynamodb().put_item, TableName=table, Item=item)
    yield "data: [DONE]\n\n"


app = Starlette(routes=[Route("/chat", chat, methods=["POST"])])
