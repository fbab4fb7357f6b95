"""Agent Kernel: an agent of the OpenAI Agents SDK in its runtime, with sessions in DynamoDB and without their cache.

As in "OpenAI Agents SDK", "Session Management" and "AWS Serverless Deployment" of its documentation.
"""

import os

os.environ |= {"AK_SESSION__TYPE": "dynamodb", "AK_SESSION__DYNAMODB__TABLE_NAME": os.environ["PEER_TABLE"]}

from agentkernel.core import AgentService, Runtime
from agentkernel.core.model import AgentRequestText
from agentkernel.openai import OpenAIModule
from line_protocol import read_text, serve
from openai import AsyncOpenAI

from agents import Agent, OpenAIChatCompletionsModel

model = OpenAIChatCompletionsModel(os.environ["PEER_MODEL"], AsyncOpenAI())
OpenAIModule([Agent("assistant", instructions="Answer questions.", model=model)])


async def ask(session, message, text):
    service = AgentService()
    service.select(session, "assistant")
    async for chunk in service.stream_multi([AgentRequestText(prompt=text)]):
        if chunk.error:
            raise RuntimeError(chunk.error)
        if chunk.delta:
            yield chunk.delta


async def read_history(session):
    stored = Runtime.current().sessions().load(session).get("openai")
    items = await stored.get_items() if stored else []
    return [(item["role"], read_text(item["content"])) for item in items]


serve(ask, read_history)
