"""Messages that enter runs of all kinds of agents: coroutines, specialists, guarded and limited ones."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from baton import Agent, Refuse, Replace, RunContext, tool
from baton.domain.agents.agent import AgentDefinition
from baton.domain.threads.message import StoredMessage
from tests.fakes.chat_model import Answer
from tests.harness.busy import SEARCH, BusyAgent, search
from tests.harness.coded import make_coded_harness
from tests.harness.handoffs import transfer
from tests.harness.harness import Harness, Turn
from tests.harness.sockets import Socketed

HOTELS = AgentDefinition.model_validate(
    {
        "id": "hotels",
        "name": "Hotels",
        "description": "Finds hotels.",
        "system_prompt": "Find hotels.",
        "tools": [SEARCH],
        "while_busy": "steer",
    }
)


def list_entered(run: Turn) -> list[str]:
    """The ids of the messages that have entered the run."""
    return [e.body["value"]["messageId"] for e in run.events if e.body.get("name") == "message_steered"]


async def list_stored(harness: Harness, thread_id: str | None = None) -> list[StoredMessage]:
    """The messages of a thread, by default of the conversation."""
    thread = await harness.store.get_thread(harness.ada, thread_id or harness.thread_id)
    return list((await harness.store.read_messages(harness.ada, thread, limit=50, before=None)).messages)


async def texts(harness: Harness, thread_id: str | None = None) -> list[str]:
    """The texts of the user and the agents."""
    return [message.text for message in await list_stored(harness, thread_id) if message.is_said]


class Traveller:
    """A conversation with a coroutine that waits in the middle of its work."""

    def __init__(self, *, takes: bool = True, fails_once: bool = False) -> None:
        self.began, self.goes_on = asyncio.Event(), asyncio.Event()
        self.requests: list[list[str]] = []
        agent = Agent("traveller", "Travel.", main=True, while_busy="steer", tools=[self._search()])

        @agent.run
        async def run(context: RunContext, message: str) -> str:
            await context.call("search", request=message)
            self.began.set()
            await self.goes_on.wait()
            requests = await context.incoming() if takes else []
            self.requests.append(requests)
            if fails_once and len(self.requests) == 1:
                await asyncio.Event().wait()
            return f"Found: {' '.join([message, *requests])}"

        self.harness = make_coded_harness(agent)
        self.tab = Socketed(self.harness)

    def _search(self) -> Any:
        @tool
        async def search(request: str) -> str:
            """Search."""
            return f"Nothing for {request}."

        return search

    async def at_work(self) -> asyncio.Task[Turn]:
        running = asyncio.ensure_future(self.harness.say("m1", "Graz"))
        async with asyncio.timeout(10):
            await self.began.wait()
        await self.tab.send("message", messageId="m2", content="by train")
        return running


async def test_a_coroutine_takes_the_messages_where_it_wants_them() -> None:
    traveller = Traveller()
    running = await traveller.at_work()
    traveller.goes_on.set()
    run = await running
    assert (run.text, list_entered(run)) == ("Found: Graz by train", ["m2"])
    assert await texts(traveller.harness) == ["Graz", "by train", "Found: Graz by train"]
    await traveller.tab.run_queue()
    assert len(traveller.requests) == 1


async def test_a_coroutine_that_takes_no_messages_leaves_them_to_the_next_turn() -> None:
    traveller = Traveller(takes=False)
    running = await traveller.at_work()
    traveller.goes_on.set()
    assert list_entered(await running) == []
    await traveller.tab.run_queue()
    assert await texts(traveller.harness) == ["Graz", "Found: Graz", "by train", "Found: by train"]


async def test_a_coroutine_that_begins_again_gets_the_messages_that_it_had_taken() -> None:
    traveller = Traveller(fails_once=True)
    running = await traveller.at_work()
    traveller.goes_on.set()
    async with asyncio.timeout(10):
        while not traveller.requests:  # noqa: ASYNC110 - the coroutine has no event for it
            await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.wait([running])
    run = await traveller.harness.say("m1", "Graz")
    assert traveller.requests == [["by train"], ["by train"]]
    assert list_entered(run) == ["m2"]
    assert await texts(traveller.harness) == ["Graz", "by train", "Found: Graz by train"]


async def test_a_specialist_of_the_same_run_sees_the_message_that_entered_before(busy: BusyAgent) -> None:
    busy.model.script(Answer.calling(search()), transfer("hotels"), "A hotel in Graz.")
    async with busy.at_work() as running:
        await busy.write("m2")
    assert list_entered(await running) == ["m2"]
    assert ("user", "To Graz, please.") in busy.prompt(2)


@pytest.mark.parametrize("mode", ["forked", "summary", "full"])
async def test_a_message_enters_the_run_of_the_active_specialist(mode: str) -> None:
    busy = with_specialist(mode)
    busy.model.script(transfer("hotels"), Answer.calling(search(), text="Let me look."), "A hotel in Graz.")
    async with busy.at_work() as running:
        await busy.write("m2")
    assert list_entered(await running) == ["m2"]
    assert ("user", "To Graz, please.") in busy.prompt(2)
    spoken = [text for text in await texts(busy) if "hand" not in text.lower()]
    assert spoken[0] == "Find a flight."
    assert spoken.index("To Graz, please.") == spoken.index("Let me look.") + 1
    assert spoken[-1] == "A hotel in Graz."
    [record] = (await busy.app.ports.handoffs.of_thread(busy.ada, busy.thread_id, limit=5, cursor=None))[0]
    if mode == "forked":
        assert record.child_thread_id is not None
        assert (await texts(busy, record.child_thread_id))[-3:] == [
            "Let me look.",
            "To Graz, please.",
            "A hotel in Graz.",
        ]


@pytest.fixture
def busy() -> BusyAgent:
    return with_specialist("full")


def with_specialist(mode: str) -> BusyAgent:
    """Return an agent that may hand over to the agent for hotels."""
    handoffs = [{"agent": "hotels", "context_mode": mode}]
    return BusyAgent(while_busy="steer", handoffs=handoffs, others=(HOTELS,))


def guard(verdict: Any) -> tuple[Harness, Socketed, asyncio.Event, asyncio.Event]:
    """A conversation whose guardrail judges questions about trains."""
    began, goes_on = asyncio.Event(), asyncio.Event()

    @tool
    async def search() -> str:
        """Search."""
        began.set()
        await goes_on.wait()
        return "Three flights."

    agent = Agent("traveller", "Travel.", main=True, while_busy="steer", tools=[search])

    @agent.input_guardrail
    async def no_trains(context: Any, text: str, origin: str) -> Any:
        return verdict if "train" in text else None

    harness = make_coded_harness(agent, answers=(Answer.calling(search_call()), "Done."))
    return harness, Socketed(harness), began, goes_on


def search_call() -> Any:
    return search()


async def test_a_message_that_a_guardrail_replaces_enters_with_the_other_words() -> None:
    harness, tab, began, goes_on = guard(Replace("by some means"))
    running = asyncio.ensure_future(harness.say("m1", "Graz"))
    await began.wait()
    await tab.send("message", messageId="m2", content="by train")
    goes_on.set()
    assert list_entered(await running) == ["m2"]
    assert await texts(harness) == ["Graz", "by some means", "Done."]
    assert "by train" not in str(harness.model.requests[-1].prompts)
    await tab.run_queue()
    assert len(harness.model.requests) == 2


async def test_a_message_that_a_guardrail_refuses_does_not_enter_and_is_refused_in_its_turn() -> None:
    harness, tab, began, goes_on = guard(Refuse("No trains."))
    running = asyncio.ensure_future(harness.say("m1", "Graz"))
    await began.wait()
    await tab.send("message", messageId="m2", content="by train")
    goes_on.set()
    run = await running
    assert (list_entered(run), run.text) == ([], "Done.")
    await tab.run_queue()
    assert await texts(harness) == ["Graz", "Done.", "by train", "No trains."]
    assert all("by train" not in str(question.prompts) for question in harness.model.requests[:2])


async def test_the_run_is_replayed_with_its_own_question_and_the_message_in_its_place() -> None:
    busy = BusyAgent(while_busy="steer")
    busy.model.script(Answer.calling(search()), "Done.")
    async with busy.at_work() as running:
        await busy.write("m2")
    run = await running
    thread = await busy.store.get_thread(busy.ada, busy.thread_id)
    for after in range(len(run.events)):
        replay = await busy.replays.replay_after(busy.ada, thread, after)
        assert [event.body for event in replay.events] == [
            event.body for event in run.events if event.seq is not None and event.seq > after
        ]
    again = await busy.say("m2", "To Graz, please.")
    assert [event.body for event in again.events] == [event.body for event in run.events]


async def test_the_page_of_messages_and_the_export_have_the_message_once() -> None:
    busy = BusyAgent(while_busy="steer")
    busy.model.script(Answer.calling(search()), "Done.")
    async with busy.at_work():
        await busy.write("m2")
    await busy.tab.run_queue()
    [steered] = [message for message in await list_stored(busy) if message.is_steered]
    assert steered.make_metadata()["isSteered"] is True
    ordinals = [message.ordinal for message in await list_stored(busy)]
    assert ordinals == list(range(len(ordinals)))
