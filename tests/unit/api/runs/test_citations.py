"""Citations by number through the doors: runs, messages, records, the inspector, A2A and MCP."""

from __future__ import annotations

import json

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.a2a_task import EXTENSION_URI
from baton_documents.chunks.chunk import Chunk
from tests.fakes.chat_model import Answer
from tests.harness.harness import ASSISTANT, Harness
from tests.harness.remembered import learn
from tests.unit.api.a2a_client import A2AServed, Json, message
from tests.unit.api.a2a_messages import send
from tests.unit.api.mcp_client import McpServed, open_to_mcp, read_structured
from tests.unit.api.run_inputs import run_input
from tests.unit.api.served import Served

QUESTION = "What about returns and prices?"
SHOP = AgentDefinition(id="shop", name="Shop", description="Sells.", system_prompt="Be exact.")


async def with_passages(assistant: AgentDefinition = ASSISTANT) -> Harness:
    """A harness whose agents have a passage each about the question."""
    harness = Harness(recalls=True, assistant=assistant, others=(SHOP,))
    for agent, title in (("assistant", "Handbook"), ("shop", "Shop rules")):
        text = f"Returns and prices of the {agent}."
        await learn(harness, harness.ada, agent, text, title=title, chunk=Chunk(0, text, (), 3, 3))
    return harness


def make_asking_agent() -> AgentDefinition:
    return ASSISTANT.model_copy(update={"sub_agents": ("shop",)})


ASK = Answer.calling(ToolCall("call-1", "ask_shop", json.dumps({"message": QUESTION})))


async def run(served: Served) -> list[Json]:
    """The events of a run over SSE."""
    question = [{"id": "m1", "role": "user", "content": QUESTION}]
    answer = await served.post("/runs", run_input(served, messages=question))
    lines = answer.raise_for_status().text.split("\n")
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def end_of(events: list[Json]) -> Json:
    results: Json = [event for event in events if event["type"] == "TEXT_MESSAGE_END"][-1]["metadata"]
    return results


def text_of(events: list[Json]) -> str:
    return "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


@pytest.mark.parametrize(
    ("answer", "titles", "consulted"),
    [
        ("Free [1].", ["Handbook"], []),
        ("Free (Handbook, page 3).", ["Handbook"], []),
        ("Free [1]. So it is [1].", ["Handbook"], []),
        ("Free [7].", [], ["Handbook"]),
        ("Free.", ["Handbook"], []),
    ],
)
async def test_a_run_resolves_what_its_answer_cites(answer: str, titles: list[str], consulted: list[str]) -> None:
    served = Served(await with_passages())
    served.harness.model.script(answer)
    events = await run(served)
    end = end_of(events)
    assert text_of(events) == answer
    assert [source["title"] for source in end["sources"]] == titles
    assert [item["title"] for item in end.get("consulted", [])] == consulted
    cited = [
        answer[location["start"] : location["end"]]
        for source in end["sources"]
        for location in source.get("places", [])
    ]
    assert cited == ["[1]"] * answer.count("[1]")
    items, _ = await served.items(f"/threads/{served.harness.thread_id}/messages")
    visible = items[-1]["metadata"]
    assert (visible["sources"], visible.get("consulted")) == (end["sources"], end.get("consulted"))


async def test_a_source_has_what_a_reader_of_the_citation_needs() -> None:
    served = Served(await with_passages())
    served.harness.model.script("Free [1].")
    [source] = end_of(await run(served))["sources"]
    assert {name: source[name] for name in ("number", "title", "page", "section", "agentId", "excerpt", "places")} == {
        "number": 1,
        "title": "Handbook",
        "page": 3,
        "section": None,
        "agentId": "assistant",
        "excerpt": "Returns and prices of the assistant.",
        "places": [{"start": 5, "end": 8}],
    }


async def test_a_consulted_agents_passages_are_cited_in_the_answer_and_listed_with_its_task() -> None:
    served = Served(await with_passages(make_asking_agent()))
    served.harness.model.script(ASK, "Shop says so [1].", "Both [1][2].")
    events = await run(served)
    end = end_of(events)
    documents = {source["number"]: source["agentId"] for source in end["sources"] if source["kind"] == "document"}
    assert documents == {1: "assistant", 2: "shop"}
    thread = served.harness.thread_id
    [task], _ = await served.items(f"/threads/{thread}/tasks")
    whole = (await served.get(f"/threads/{thread}/tasks/{task['taskId']}")).json()
    assert whole["result"] == "Shop says so [1]."
    assert [(source["number"], source["title"]) for source in whole["sources"]] == [(1, "Shop rules")]
    assert whole["consulted"] == []


async def test_a_consulted_agent_that_cites_nothing_has_its_documents_consulted() -> None:
    served = Served(await with_passages(make_asking_agent()))
    served.harness.model.script(ASK, "Shop says so.", "The shop says so [1].")
    end = end_of(await run(served))
    assert [(source["kind"], source["title"]) for source in end["sources"]] == [
        ("document", "Handbook"),
        ("agent", "Shop"),
    ]
    assert [item["title"] for item in end["consulted"]] == ["Shop rules"]


async def test_the_inspector_shows_the_numbers_of_the_prompt() -> None:
    served = Served(await with_passages())
    served.harness.model.script("Free [1].")
    events = await run(served)
    path = f"/threads/{served.harness.thread_id}/turns/{events[0]['runId']}/context"
    record = (await served.get(path, "context:inspect")).raise_for_status().json()
    block = next(block for block in record["blocks"] if block["kind"] == "knowledge")
    assert [(item["number"], item["title"]) for item in block["items"]] == [(1, "Handbook")]
    others = [item for entry in record["blocks"] if entry is not block for item in entry["items"]]
    assert not any("number" in item for item in others)


def read_extension(artifact: Json) -> Json:
    result: Json = artifact["metadata"][EXTENSION_URI]
    return result


async def test_over_a2a_the_answer_names_its_passages_in_tasks_and_streams() -> None:
    served = A2AServed(await with_passages(make_asking_agent()))
    served.harness.model.script(ASK, "Shop says so.", "Free [1].")
    task = await send(served, message(QUESTION, "m-1"))
    [artifact] = task["artifacts"]
    [source] = [source for source in read_extension(artifact)["sources"] if source["kind"] == "document"]
    assert (source["number"], source["title"], source["page"]) == (1, "Handbook", 3)
    assert [item["title"] for item in read_extension(artifact)["consulted"]] == ["Shop rules"]

    served.harness.model.script(Answer(("Free ", "[1].")))
    events = await served.calls("message/stream", {"message": message(QUESTION, "m-2")})
    updates = [event["result"] for event in events if event["result"]["kind"] == "artifact-update"]
    texts = ["".join(part["text"] for part in update["artifact"]["parts"]) for update in updates]
    assert "".join(texts) == "Free [1]."
    assert [source["number"] for source in read_extension(updates[-1]["artifact"])["sources"]] == [1]
    assert updates[-1]["append"] is True


async def test_over_mcp_places_are_those_in_the_whole_message() -> None:
    served = McpServed.over(await with_passages(open_to_mcp(make_asking_agent())))
    first = Answer.calling(*ASK.calls, text="I ask [1].")
    served.harness.model.script(first, "Shop says so.", "Free [1].")
    async with served.client() as client:
        result = read_structured(await client.call_tool("assistant", {"message": QUESTION}))
    places = [location for source in result["sources"] for location in source.get("places", [])]
    assert [result["message"][location["start"] : location["end"]] for location in places] == ["[1]", "[1]"]
    assert [item["title"] for item in result["consulted"]] == ["Shop rules"]


async def test_the_export_has_the_text_with_its_sources() -> None:
    served = Served(await with_passages())
    served.harness.model.script("Free [1].")
    await run(served)
    lines = (await served.get("/users/me/export")).raise_for_status().text.splitlines()
    assert any('"Free [1]."' in line for line in lines)
