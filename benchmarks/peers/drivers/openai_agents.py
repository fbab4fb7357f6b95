"""OpenAI Agents SDK: an agent with a session.

``PEER_STORE`` is ``sqlite`` for SQLAlchemySession on a SQLite file ("Sessions" of its documentation; it has no store in
DynamoDB) or ``dynamodb`` for DynamoDBSession of the community's package openai-agents-session, which that documentation
does not mention.
"""

import os

from agents.extensions.memory import SQLAlchemySession
from aiobotocore.session import get_session
from line_protocol import read_text, serve
from openai import AsyncOpenAI
from openai.types.responses import ResponseTextDeltaEvent
from openai_agents_session import DynamoDBSession
from sqlalchemy.ext.asyncio import create_async_engine

from agents import Agent, OpenAIChatCompletionsModel, Runner

model = OpenAIChatCompletionsModel(os.environ["PEER_MODEL"], AsyncOpenAI())
agent = Agent("Assistant", instructions="Answer questions.", model=model)
engine = create_async_engine(f"sqlite+aiosqlite:///{os.environ['PEER_FILE']}")
clients = []


async def open_session(session):
    if os.environ["PEER_STORE"] == "sqlite":
        return SQLAlchemySession(session, engine=engine, create_tables=True)
    if not clients:
        clients.append(await get_session().create_client("dynamodb", os.environ["AWS_REGION"]).__aenter__())
    return DynamoDBSession(session, clients[0], os.environ["PEER_TABLE"])


async def ask(session, message, text):
    result = Runner.run_streamed(agent, text, session=await open_session(session))
    async for event in result.stream_events():
        if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent):
            yield event.data.delta


async def read_history(session):
    items = await (await open_session(session)).get_items()
    return [(item["role"], read_text(item["content"])) for item in items]


serve(ask, read_history)
