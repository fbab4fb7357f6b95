"""LangGraph: a graph of one model call, with the DynamoDB checkpointer of langgraph-checkpoint-aws.

As in "LangGraph DynamoDB" of that package's documentation, with S3 for large checkpoints. Its DynamoDBStore is for
memory across conversations, which this conversation does not have.
"""

import os

from langchain_core.messages import AIMessageChunk
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph_checkpoint_aws import DynamoDBSaver
from line_protocol import serve

model = ChatOpenAI(model=os.environ["PEER_MODEL"])
saver = DynamoDBSaver(
    table_name=os.environ["PEER_TABLE"],
    region_name=os.environ["AWS_REGION"],
    s3_offload_config={"bucket_name": os.environ["PEER_BUCKET"]},
)


async def call_model(state: MessagesState):
    return {"messages": [await model.ainvoke(state["messages"])]}


builder = StateGraph(MessagesState)
builder.add_node("model", call_model)
builder.add_edge(START, "model")
builder.add_edge("model", END)
graph = builder.compile(checkpointer=saver)


def make_config(session):
    return {"configurable": {"thread_id": session}}


async def ask(session, message, text):
    entry = {"messages": [{"role": "user", "content": text, "id": message}]}
    async for chunk, _ in graph.astream(entry, make_config(session), stream_mode="messages"):
        if isinstance(chunk, AIMessageChunk) and chunk.content:
            yield chunk.content


async def read_history(session):
    state = await graph.aget_state(make_config(session))
    return [(message.type, message.content) for message in state.values.get("messages", [])]


serve(ask, read_history)
