"""Citations by number in a turn: in the prompt, in the answer, and where texts go on to other prompts."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from baton import Agent, RunContext
from baton.authoring.functions import Functions
from baton.domain.agents.agent import AgentDefinition
from baton.domain.documents.search import IndexName, SearchFilter
from baton.domain.runs.tool_call import ToolCall
from baton.ports.agents.agent_client import AgentDone
from baton_documents.chunks.chunk import Chunk
from baton_testing.fakes.agents.agent_client import Reply
from tests.fakes.chat_model import Answer
from tests.harness.harness import ASSISTANT, Harness, Turn
from tests.harness.remembered import learn
from tests.harness.sessions import close, make_episode
from tests.harness.wiki import DELETE, answer, yes

QUESTION = "What about returns and prices?"
RETURNS = "Returns and prices: sent back within 30 days, all is free."
PRICES = "Returns and prices rise in May."
SHOP = AgentDefinition(id="shop", name="Shop", description="Sells.", system_prompt="Be exact.")
BANK = AgentDefinition(id="bank", name="Bank", description="Lends.", system_prompt="Be exact.")
FAR = AgentDefinition.model_validate(
    {"id": "far", "name": "Far", "description": "Far.", "remote": {"card_url": "https://agents.example.com"}}
)


async def with_passages(**fields: Any) -> Harness:
    """A harness whose agent has two passages about the question."""
    harness = Harness(recalls=True, **fields)
    await learn(harness, harness.ada, "assistant", RETURNS, title="Handbook", chunk=Chunk(0, RETURNS, (), 3, 3))
    await learn(harness, harness.ada, "assistant", PRICES, title="Price list", chunk=Chunk(0, PRICES, ("May",)))
    return harness


def read_last_metadata(turn: Turn) -> dict[str, Any]:
    """Return the metadata of the last text's end."""
    metadata: dict[str, Any] = [event.body for event in turn.events if event.type == "TEXT_MESSAGE_END"][-1]["metadata"]
    return metadata


def list_cited(turn: Turn) -> list[tuple[Any, str, list[str]]]:
    """Number, title and cited texts of the documents that the last answer rests on, by number."""
    sources = [source for source in read_last_metadata(turn)["sources"] if source["kind"] == "document"]
    assert turn.finished is not None
    text = turn.finished.messages[-1].text
    items = [
        (
            source["number"],
            source["title"],
            [text[position["start"] : position["end"]] for position in source.get("places", ())],
        )
        for source in sources
    ]
    return sorted(items, key=lambda entry: entry[0])


def prompt_text(harness: Harness, call: int = -1) -> str:
    return "\n".join(str(content) for _, content in harness.model.requests[call].contents)


def ask(agent: str, message: str = QUESTION) -> ToolCall:
    return ToolCall(f"call-{agent}", f"ask_{agent}", json.dumps({"message": message}))


async def test_passages_of_the_prompt_are_numbered_and_an_answer_cites_them_by_number() -> None:
    harness = await with_passages()
    harness.model.script(Answer(("Free [", "1", "], rising ", "[2].")))
    turn = await harness.say(content=QUESTION)
    prompt = prompt_text(harness)
    assert '\n[1] 2026-03-14: source "Handbook", page 3: ' in prompt
    assert '\n[2] 2026-03-14: source "Price list", section "May": ' in prompt
    assert turn.text == "Free [1], rising [2]."
    assert list_cited(turn) == [(1, "Handbook", ["[1]"]), (2, "Price list", ["[2]"])]
    places = {
        source["title"]: (source["page"], source["section"], source["excerpt"])
        for source in read_last_metadata(turn)["sources"]
    }
    assert places == {"Handbook": (3, None, RETURNS), "Price list": (None, "May", PRICES)}
    assert turn.finished is not None
    assert list(turn.finished.messages[-1].sources) == read_last_metadata(turn)["sources"]


@pytest.mark.parametrize(
    ("answer", "items"),
    [
        ("Free [1].", [(1, "Handbook", ["[1]"])]),
        ("Free [1]. Yes, free [1].", [(1, "Handbook", ["[1]", "[1]"])]),
        ("Rising (Price list).", [(2, "Price list", [])]),
        ("Free [1], rising (Price list, May).", [(1, "Handbook", ["[1]"]), (2, "Price list", [])]),
        ("Free [1] or not [8].", [(1, "Handbook", ["[1]"])]),
        ("Free [8].", []),
        ("Free.", [(1, "Handbook", []), (2, "Price list", [])]),
        ("Take `items[1]`.", [(1, "Handbook", []), (2, "Price list", [])]),
    ],
)
async def test_answers_that_cite_by_number_by_title_twice_wrongly_and_not_at_all(
    answer: str, items: list[tuple[Any, ...]]
) -> None:
    harness = await with_passages()
    harness.model.script(answer)
    turn = await harness.say(content=QUESTION)
    assert turn.text == answer
    assert list_cited(turn) == items
    consulted = [entry["title"] for entry in read_last_metadata(turn).get("consulted", ())]
    assert sorted(consulted) == (["Handbook", "Price list"] if answer == "Free [8]." else [])


async def test_a_text_before_a_call_lists_what_it_cites_and_nothing_else() -> None:
    harness = await with_passages(assistant=ASSISTANT.model_copy(update={"sub_agents": ("shop",)}), others=(SHOP,))
    harness.model.script(Answer.calling(ask("shop"), text="Free [1], I look further."), "It is.", "Done.")
    turn = await harness.say(content=QUESTION)
    first, *_ = (event.body["metadata"] for event in turn.events if event.type == "TEXT_MESSAGE_END")
    assert [(source["number"], source["title"]) for source in first["sources"]] == [(1, "Handbook")]


# Consulted agents


async def two_shops(*answers: Answer | str) -> tuple[Harness, Turn]:
    """An agent with passages has asked two others with passages at the same time."""
    harness = await with_passages(
        assistant=ASSISTANT.model_copy(update={"sub_agents": ("shop", "bank")}), others=(SHOP, BANK)
    )
    for agent, title in (("shop", "Shop rules"), ("bank", "Bank rules")):
        text = f"Returns and prices of the {agent}."
        await learn(harness, harness.ada, agent, text, title=title, chunk=Chunk(0, text, (), 7, 7))
    harness.model.script(Answer.calling(ask("shop"), ask("bank")), *answers)
    return harness, await harness.say(content=QUESTION)


async def test_answers_of_agents_that_are_asked_at_once_come_with_numbers_of_one_run() -> None:
    harness, turn = await two_shops("Shop says so [1]. Odd [5].", "Bank says so [1][1].", "Both [3] [4], free [1].")
    for consulted in (1, 2):
        assert "\n[1] 2026-03-14: source " in prompt_text(harness, consulted)
    prompt = prompt_text(harness)
    assert 'Shop says so [3]. Odd (5).\n\n(It cites [3] "Shop rules", page 7.)' in prompt
    assert 'Bank says so [4][4].\n\n(It cites [4] "Bank rules", page 7.)' in prompt
    assert list_cited(turn) == [(1, "Handbook", ["[1]"]), (3, "Shop rules", ["[3]"]), (4, "Bank rules", ["[4]"])]
    assert {
        source["title"]: source["agentId"]
        for source in read_last_metadata(turn)["sources"]
        if source["kind"] == "document"
    } == {"Handbook": "assistant", "Shop rules": "shop", "Bank rules": "bank"}


async def test_a_consulted_agent_that_cites_nothing_lists_its_documents_as_consulted() -> None:
    _, turn = await two_shops("Shop says so.", "Bank says so (Bank rules, page 7).", "Both, says the bank [3].")
    assert list_cited(turn) == [(3, "Bank rules", ["[3]"])]
    consulted = read_last_metadata(turn)["consulted"]
    assert [(entry["title"], entry["agentId"], entry["page"]) for entry in consulted] == [("Shop rules", "shop", 7)]
    assert not {"number", "isConsulted", "excerpt"} & set(consulted[0])
    assert turn.finished is not None
    assert list(turn.finished.messages[-1].consulted) == consulted


async def test_a_question_to_another_agent_names_the_passages() -> None:
    harness = await with_passages(assistant=ASSISTANT.model_copy(update={"sub_agents": ("shop",)}), others=(SHOP,))
    harness.model.script(Answer.calling(ask("shop", "Is [1] right?")), "Yes.", "Yes.")
    await harness.say(content=QUESTION)
    assert harness.model.requests[1].contents[-1] == ("user", "Is (Handbook, page 3) right?")


async def test_the_sources_of_a_consulted_agent_are_with_its_task() -> None:
    harness, _ = await two_shops("Shop says so [1].", "Bank says so.", "Both.")
    tasks, _ = await harness.records.list_tasks(harness.ada, harness.thread_id, limit=9, cursor=None)
    by_agent = {task.agent_id: task for task in tasks}
    [source] = by_agent["shop"].sources
    assert (by_agent["shop"].result, source["title"], source["number"]) == ("Shop says so [1].", "Shop rules", 1)
    assert source["places"] == [{"start": 13, "end": 16}]
    assert (by_agent["bank"].sources, [entry["title"] for entry in by_agent["bank"].consulted]) == ((), ["Bank rules"])


async def test_a_worker_that_takes_over_has_the_same_numbers_and_sources() -> None:
    harness = await with_passages(assistant=ASSISTANT.model_copy(update={"sub_agents": ("shop",)}), others=(SHOP,))
    await learn(harness, harness.ada, "shop", "Returns and prices here.", title="Shop rules")
    dying = Answer(("lost",), gate=asyncio.Event(), gate_at=0)
    harness.model.script(Answer.calling(ask("shop")), "So it is [1].", dying)
    dead = asyncio.ensure_future(harness.say(content=QUESTION))
    await harness.wait_for_requests(3)
    dead.cancel()
    await asyncio.wait([dead])
    harness.clock.advance(60)
    harness.model.script(Answer.calling(ask("shop")), "It is [3].")
    turn = await harness.say(content=QUESTION)
    assert "So it is [3]." in prompt_text(harness)
    assert list_cited(turn) == [(3, "Shop rules", ["[3]"])]


async def test_a_remote_agent_of_another_baton_is_cited_like_one_of_this() -> None:
    harness = await with_passages(assistant=ASSISTANT.model_copy(update={"sub_agents": ("far",)}), others=(FAR,))
    there = {"kind": "document", "id": "d", "title": "Far rules", "page": 2, "section": None, "number": 1, "url": None}
    harness.agent_client.script("far", Reply(("So it is [1] [6].",), end=AgentDone(documents=(there,))))
    harness.model.script(Answer.calling(ask("far")), "It is [3].")
    turn = await harness.say(content=QUESTION)
    assert 'So it is [3] (6).\n\n(It cites [3] "Far rules", page 2.)' in prompt_text(harness)
    assert list_cited(turn) == [(3, "Far rules", ["[3]"])]
    assert read_last_metadata(turn)["sources"][-1]["agentId"] == "far"


# Later turns


async def test_a_later_prompt_names_the_passages_that_were_cited_by_number() -> None:
    harness = await with_passages()
    harness.model.script("Free [1], rising [1, 2].", "Again free [1].")
    await harness.say("m1", content=QUESTION)
    turn = await harness.say("m2", content=f"{QUESTION} Again.")
    contents = harness.model.requests[-1].contents
    assert ("assistant", "Free (Handbook, page 3), rising (Handbook, page 3; Price list, May).") in contents
    assert turn.text == "Again free [1]."
    record = await harness.context(harness.request("m2").run_id)
    sent = [message["content"] for message in record["calls"][0]["messages"] if message["role"] == "assistant"]
    assert sent == ["Free (Handbook, page 3), rising (Handbook, page 3; Price list, May)."]
    block = next(block for block in record["blocks"] if block["kind"] == "knowledge")
    assert [item["number"] for item in block["items"] if item["included"]] == [1]


async def test_a_later_prompt_names_what_a_consulted_agent_has_cited() -> None:
    harness, _ = await two_shops("Shop says so [1].", "Bank says so.", "Both [3].")
    harness.model.script("Yes.")
    await harness.say("m2", content="Sure?")
    prompt = prompt_text(harness)
    assert "Shop says so (Shop rules, page 7)." in prompt
    assert prompt.count("[3]") == prompt.count("[1][3]") == 1  # in the rules


async def test_what_is_remembered_of_a_session_has_no_citations() -> None:
    harness = await with_passages()
    harness.model.script("Free [1], and rising [2].")
    await harness.say(content=QUESTION)
    await close(harness)
    await make_episode(harness)
    items = harness.search.list(harness.ada, IndexName.EPISODES, SearchFilter())
    indexed = [str(document.fields["text"]) async for document in items]
    assert any("Free, and rising." in text for text in indexed)
    assert not any("[1]" in text for text in indexed)


# Handoffs, approvals and coroutines


async def hand_over(mode: str, *answers: Answer | str) -> tuple[Harness, Turn]:
    """The agent has handed the conversation over to the shop, which has a passage, too."""
    handoff = {"agent": "shop", "context_mode": mode, "return_expected": False}
    assistant = AgentDefinition.model_validate(ASSISTANT.model_dump() | {"handoffs": [handoff]})
    harness = await with_passages(assistant=assistant, others=(SHOP,))
    await learn(harness, harness.ada, "shop", "Returns and prices here.", title="Shop rules")
    harness.model.script(*answers)
    return harness, await harness.say(content=QUESTION)


def make_handoff_call(summary: str = "Returns.") -> ToolCall:
    values = {"reason": "It asks.", "context_summary": summary}
    return ToolCall("call-move", "transfer_to_shop", json.dumps(values))


async def test_numbers_go_on_where_a_specialist_goes_on_in_the_same_run() -> None:
    leaving = Answer.calling(make_handoff_call("As [1] says."), text="Free [1].")
    harness, turn = await hand_over("summary", leaving, "Mine [3].")
    ends = [event.body["metadata"]["sources"] for event in turn.events if event.type == "TEXT_MESSAGE_END"]
    assert [[(source["number"], source["title"]) for source in sources] for sources in ends if sources] == [
        [(1, "Handbook")],
        [(3, "Shop rules")],
    ]
    assert '"As (Handbook, page 3) says."' in prompt_text(harness)


async def test_an_answer_that_is_merged_from_a_fork_has_its_places_in_the_whole_text() -> None:
    looked = ToolCall("call-look", "look", "{}")
    handoff = {"agent": "shop", "context_mode": "forked", "return_expected": False}
    assistant = AgentDefinition.model_validate(ASSISTANT.model_dump() | {"handoffs": [handoff]})
    tool = {"type": "python", "name": "look", "description": "Looks.", "entry_point": "shop:look"}
    shop = AgentDefinition.model_validate(SHOP.model_dump() | {"tools": [tool]})
    harness = await with_passages(assistant=assistant, others=(shop,))

    async def look() -> str:
        return "Nothing new."

    harness.tools.add("look", look)
    await learn(harness, harness.ada, "shop", "Returns and prices here.", title="Shop rules")
    harness.model.script(Answer.calling(make_handoff_call()), Answer.calling(looked, text="Mine [1]."), "So it is [1].")
    await harness.say(content=QUESTION)
    harness.model.script(Answer.calling(looked, text="Mine [1]."), "So it is [1].")
    turn = await harness.say("m2", content=QUESTION)
    assert turn.text == "Mine [1].\n\nSo it is [1]."
    assert turn.finished is not None
    message = turn.finished.messages[-1]
    places = [position for source in message.sources for position in source.get("places", ())]
    assert [message.text[position["start"] : position["end"]] for position in places] == ["[1]", "[1]"]


async def test_after_an_approval_the_run_goes_on_with_the_numbers_of_before() -> None:
    tool = {"type": "python", "name": "delete", "description": "Deletes.", "entry_point": "wiki:delete"}
    values = ASSISTANT.model_dump() | {"tools": [tool], "sub_agents": ["shop"]}
    harness = await with_passages(assistant=AgentDefinition.model_validate(values), others=(SHOP,))

    async def delete(page: str) -> str:
        return f"{page} is gone."

    harness.tools.add("delete", delete, parameters=DELETE, requires_approval=True)
    await learn(harness, harness.ada, "shop", "Returns and prices here.", title="Shop rules")
    approved = ToolCall("call-home", "delete", json.dumps({"page": "home"}))
    harness.model.script(Answer.calling(ask("shop")), "Shop says so [1].", Answer.calling(approved, text="May I [3]?"))
    waiting = await harness.say("m1", content=QUESTION)
    [interrupt] = waiting.last["outcome"]["interrupts"]
    harness.model.script("Gone [3].")
    turn = await answer(harness, yes(interrupt))
    assert "Shop says so [3]." in prompt_text(harness)
    assert list_cited(turn) == [(3, "Shop rules", ["[3]"])]


async def test_the_text_of_a_coroutine_cites_what_its_model_and_its_agents_have_cited() -> None:
    agent = Agent("assistant", "Sell.", main=True, sub_agents=[Agent("shop", "Sell.", description="Sells.")])

    @agent.run
    async def run(context: RunContext, message: str) -> str:
        turn = await context.model("Answer.")
        return f"{turn} {await context.ask('shop', message)}"

    definitions = [agent.definition, SHOP]
    harness = Harness(recalls=True, assistant=definitions[0], others=(SHOP,), functions=Functions())
    text = "Returns and prices of the assistant."
    await learn(harness, harness.ada, "assistant", text, title="Handbook", chunk=Chunk(0, text, (), 3, 3))
    await learn(harness, harness.ada, "shop", "Returns and prices here.", title="Shop rules")
    harness.model.script("Free [1].", "Mine [1].")
    exchange = await harness.say(content=QUESTION)
    assert exchange.text == "Free [1]. Mine [2]."
    assert list_cited(exchange) == [(1, "Handbook", ["[1]"]), (2, "Shop rules", ["[2]"])]
