"""A new user's first look: the shipped agents and the example's server, with the demo model as everybody's model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from tests.e2e.ag_ui_rules import check_run, text_of
from tests.e2e.cloud import RunningCloud
from tests.e2e.consulting.peers import Peer, example_agents, example_server
from tests.e2e.consulting.stored_consultations import of_type, records, results_by_tool
from tests.e2e.sockets import PATIENCE_SECONDS, SocketClient, new_id
from tests.e2e.users import User, run_input

pytestmark = pytest.mark.nightly

QUESTION = "What are the best practices for error handling in Python agents?"
FALLBACK = "I'm working with limited resources right now, but here's what I know...\n\n"


@pytest.fixture(scope="session")
def docs_server() -> Iterator[Peer]:
    """The example's MCP server."""
    with example_server() as server:
        yield server


@pytest.fixture(scope="session")
def demo_cloud(docs_server: Peer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCloud]:
    """The product with the demo model and the example's agents."""
    folder = example_agents(tmp_path_factory.mktemp("agents"), docs_server)
    settings = {"BATON_DEMO_DELAY_MS": "1"}
    with RunningCloud(agents=folder, settings=settings) as running:
        yield running


@pytest.fixture(scope="session")
async def demo_client(demo_cloud: RunningCloud) -> AsyncIterator[httpx.AsyncClient]:
    """A client of that cloud, without a token."""
    async with httpx.AsyncClient(base_url=demo_cloud.url, timeout=PATIENCE_SECONDS, trust_env=False) as client:
        yield client


@pytest.fixture
def ada(demo_cloud: RunningCloud, demo_client: httpx.AsyncClient, tenant: str) -> User:
    """A user of that cloud."""
    return User(demo_cloud, demo_client, tenant, "ada", demo_cloud.token(tenant, "ada"))


@pytest.fixture
async def demo_socket(ada: User) -> AsyncIterator[SocketClient]:
    """Ada's connection."""
    async with ada.connect() as connected:
        yield connected


async def test_the_research_question_is_answered_in_one_voice(demo_socket: SocketClient, ada: User) -> None:
    thread_id = new_id()
    run = await demo_socket.say(QUESTION, thread_id=thread_id, agentId="assistant")

    assert run[-1]["outcome"] == {"type": "success"}
    [snapshot] = of_type(run, "ACTIVITY_SNAPSHOT")
    assert (snapshot["activityType"], snapshot["content"]["label"]) == ("research", "Researching...")
    visible = [(agent["id"], agent["name"]) for agent in snapshot["content"]["agents"]]
    assert visible == [("knowledge", "Knowledge"), ("research", "Research")]
    started = {event["subagentRunId"]: event["name"] for event in of_type(run, "SUBAGENT_STARTED")}
    assert sorted(started.values()) == ["Knowledge", "Research"]
    assert {event["subagentRunId"] for event in of_type(run, "SUBAGENT_FINISHED")} == started.keys()
    reported = [json.loads(event["content"]) for event in of_type(run, "TOOL_CALL_RESULT")]
    assert {item["taskId"]: item["status"] for item in reported} == dict.fromkeys(started, "completed")

    [opened] = of_type(run, "TEXT_MESSAGE_START")
    assert opened["name"] == "Assistant"
    answer = text_of(run)
    assert answer.startswith("Based on my research, here are the best practices for error handling in Python agents:")
    assert "(Knowledge)" in answer
    assert "(Research)" in answer
    [closed] = of_type(run, "TEXT_MESSAGE_END")
    assert [source["title"] for source in closed["metadata"]["sources"]] == ["Knowledge", "Research"]

    tasks = {task["agentId"]: task for task in await records(ada, thread_id, "tasks")}
    assert {task["status"] for task in tasks.values()} == {"completed"}
    assert {task["taskId"] for task in tasks.values()} == started.keys()
    assert tasks["knowledge"]["message"] == QUESTION
    messages = (await ada.read(f"/threads/{thread_id}/tasks/{tasks['knowledge']['taskId']}"))["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[2]["content"].startswith("# Handling errors")
    calls = [
        (call["agentId"], call["toolName"], call["succeeded"]) for call in await records(ada, thread_id, "tool-calls")
    ]
    assert sorted(calls) == [
        ("assistant", "ask_knowledge", True),
        ("assistant", "ask_research", True),
        ("knowledge", "search_docs", True),
    ]


async def test_the_next_turn_knows_the_answer_and_consults_again(ada: User) -> None:
    first = await ada.ask(QUESTION, agentId="assistant")
    second = await ada.ask("How do I configure rate limiting for my agent?", sessionId=first["sessionId"])
    answer = second["messages"][-1]
    assert answer["content"].startswith("Based on my research, here are the steps to configure rate limiting for your")
    assert [source["agentId"] for source in answer["metadata"]["sources"]] == ["knowledge"]
    third = await ada.ask("Hello!", sessionId=first["sessionId"])
    assert len(third["messages"]) == 2


async def test_a_tool_is_used_when_the_user_asks_for_it(demo_socket: SocketClient) -> None:
    run = await demo_socket.say("Use the search_docs tool for retries", agentId="librarian")
    assert results_by_tool(run)["search_docs"].startswith("# Retries")
    assert text_of(run).startswith("According to `search_docs`:\n\n# Retries")


async def test_a_page_is_read_after_approval(ada: User) -> None:
    thread_id = new_id()
    props = {"agentId": "librarian"}
    request = await ada.run(run_input("Use read_page for Retries", thread_id=thread_id, forwardedProps=props))
    [interrupt] = request[-1]["outcome"]["interrupts"]
    assert interrupt["message"] == "May I use read_page?"
    resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
    run = await ada.run(run_input("", thread_id=thread_id, messages=[], resume=resume))
    check_run(run)
    assert text_of(run).startswith("According to `read_page`:\n\n# Retries")


async def test_knowledge_answers_without_its_server(demo_socket: SocketClient, docs_server: Peer, ada: User) -> None:
    docs_server.kill()
    thread_id = new_id()
    run = await demo_socket.say(QUESTION, thread_id=thread_id, agentId="assistant")
    assert run[-1]["outcome"] == {"type": "success"}
    assert text_of(run).startswith(f"{FALLBACK}Based on my research, here are the best practices")
    assert {task["status"] for task in await records(ada, thread_id, "tasks")} == {"completed"}
