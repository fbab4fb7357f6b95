"""agent-squad: one OpenAI agent behind its classifier, and its DynamoDB storage.

As in "Quick start", "OpenAI agent" and "DynamoDB storage" of its documentation.
"""

import os

from agent_squad.agents import AgentStreamResponse, OpenAIAgent, OpenAIAgentOptions
from agent_squad.classifiers import OpenAIClassifier, OpenAIClassifierOptions
from agent_squad.orchestrator import AgentSquad
from agent_squad.storage import DynamoDbChatStorage
from line_protocol import serve

KEY, MODEL = os.environ["OPENAI_API_KEY"], os.environ["PEER_MODEL"]
storage = DynamoDbChatStorage(os.environ["PEER_TABLE"], os.environ["AWS_REGION"])
squad = AgentSquad(classifier=OpenAIClassifier(OpenAIClassifierOptions(api_key=KEY, model_id=MODEL)), storage=storage)
agent = OpenAIAgent(
    OpenAIAgentOptions(name="Assistant", description="Answers questions", api_key=KEY, model=MODEL, streaming=True)
)
squad.add_agent(agent)


async def ask(session, message, text):
    response = await squad.route_request(text, "ada", session, stream_response=True)
    if not response.streaming:
        raise RuntimeError(response.output.content[0]["text"])
    async for chunk in response.output:
        if isinstance(chunk, AgentStreamResponse) and chunk.text:
            yield chunk.text


async def read_history(session):
    messages = await storage.fetch_chat("ada", session, agent.id)
    return [(message.role, message.content[0]["text"]) for message in messages]


serve(ask, read_history)
