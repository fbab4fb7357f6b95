"""Strands Agents: an agent and a session manager for each request, as for a stateless service.

``PEER_STORE`` is ``s3`` for the SDK's S3SessionManager ("Session Management" of its documentation) or ``dynamodb`` for
AWS's package strands-dynamodb-storage ("Using DynamoDB as a storage backend for Strands Agents", its developer guide).
"""

import os

from line_protocol import serve
from strands import Agent
from strands.models.openai import OpenAIModel
from strands.session import S3SessionManager, SnapshotSessionManager
from strands_dynamodb_storage import DynamoDBStorage

REGION = os.environ["AWS_REGION"]
client = {"api_key": os.environ["OPENAI_API_KEY"], "base_url": os.environ["OPENAI_BASE_URL"]}
model = OpenAIModel(client_args=client, model_id=os.environ["PEER_MODEL"])
storage = DynamoDBStorage(os.environ["PEER_TABLE"], region_name=REGION)


def make_agent(session):
    if os.environ["PEER_STORE"] == "s3":
        manager = S3SessionManager(session_id=session, bucket=os.environ["PEER_BUCKET"], region_name=REGION)
    else:
        manager = SnapshotSessionManager(session, storage=storage)
    return Agent(model=model, session_manager=manager, callback_handler=None)


async def ask(session, message, text):
    async for event in make_agent(session).stream_async(text):
        if "data" in event:
            yield event["data"]


async def read_history(session):
    messages = make_agent(session).messages
    return [(message["role"], "".join(part.get("text", "") for part in message["content"])) for message in messages]


serve(ask, read_history)
