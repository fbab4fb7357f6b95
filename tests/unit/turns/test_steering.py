"""Messages that come while a run is in progress: they enter it, stop it, or wait, each exactly once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import MessageWithdrawn, NothingRunning, QueueFull, ThreadBusy
from baton.domain.tenants.identity import Scope
from baton.threads.requests.waiting_messages import MAX_WAITING
from tests.fakes.chat_model import Answer
from tests.harness.busy import BusyAgent, script_search, search
from tests.harness.harness import LIBRARIAN
from tests.harness.wiki import answer as decide
from tests.harness.wiki import delete, yes

FOUND = [("user", "Find a flight."), ("assistant", ""), ("tool", "Three flights.")]
TO_GRAZ = ("user", "To Graz, please.")


@pytest.fixture
def busy() -> BusyAgent:
    return BusyAgent(while_busy="steer")


def archivist(librarian: AgentDefinition) -> AgentDefinition:
    """An agent that everybody may talk to, with the librarian's triggers."""
    return librarian.model_copy(update={"id": "archivist", "main": False, "required_permissions": ()})


def list_entered(events: list[Any]) -> list[str]:
    """The ids of the messages that have entered the run of ``events``."""
    return [event.body["value"]["messageId"] for event in events if event.body.get("name") == "message_steered"]


async def test_a_message_enters_the_run_behind_the_results_and_before_the_next_answer(busy: BusyAgent) -> None:
    busy.model.script(*script_search("Here are flights to Graz."))
    async with busy.at_work() as running:
        assert await busy.write("m2") == "steered"
    run = await running
    assert busy.prompt(1)[-3:] == [("assistant", ""), ("tool", "Three flights."), TO_GRAZ]
    assert await busy.history() == [*FOUND, TO_GRAZ, ("assistant", "Here are flights to Graz.")]
    [event] = [event.body["value"] for event in run.events if event.body.get("name") == "message_steered"]
    assert (event["messageId"], event["message"]["content"]) == ("m2", "To Graz, please.")
    assert run.finished is not None
    assert event["runId"] == run.finished.messages[0].run_id


async def test_a_message_that_has_entered_a_run_gets_no_turn(busy: BusyAgent) -> None:
    busy.model.script(*script_search("Here are flights to Graz."))
    async with busy.at_work():
        await busy.write("m2")
    before = await busy.history()
    await busy.tab.run_queue()
    assert (await busy.history(), len(busy.model.requests)) == (before, 2)
    assert await busy.list_waiting() == []


async def test_a_message_that_asks_for_another_agent_begins_a_run() -> None:
    librarian = AgentDefinition.model_validate(LIBRARIAN.model_dump() | {"triggers": ["talk to a librarian"]})
    busy = BusyAgent(while_busy="steer", handoffs=[{"agent": "archivist"}], others=(archivist(librarian),))
    busy.model.script(*script_search("Three flights."), "I am the archivist.")
    async with busy.at_work() as running:
        assert await busy.write("m2", "I want to talk to a librarian, please.") == "queued"
        assert await busy.write("m3", "To Graz, please.") == "steered"
    assert list_entered((await running).events) == ["m3"]


async def test_messages_enter_in_the_order_in_which_they_were_sent(busy: BusyAgent) -> None:
    busy.model.script(*script_search("Done."))
    async with busy.at_work() as running:
        for number in range(2, 5):
            busy.clock.advance(0.01)
            await busy.write(f"m{number}", f"Wish {number}.")
    assert list_entered((await running).events) == ["m2", "m3", "m4"]


async def test_a_message_to_a_run_that_ends_first_is_answered_next(busy: BusyAgent) -> None:
    gate = asyncio.Event()
    busy.model.script(Answer(("Hello ", "there."), gate=gate, gate_at=1), "Flights to Graz.")
    running = asyncio.ensure_future(busy.say("m1"))
    await busy.wait_for_requests()
    assert await busy.write("m2") == "steered"
    gate.set()
    assert list_entered((await running).events) == []
    await busy.tab.run_queue()
    assert [text for role, text in await busy.history() if role == "assistant"] == ["Hello there.", "Flights to Graz."]
    assert [event["type"] for event in busy.tab.take_events()][:1] == ["RUN_STARTED"]
    assert await busy.list_waiting() == []


async def test_a_message_waits_by_default_and_is_answered_after_the_run() -> None:
    busy = BusyAgent()
    busy.model.script(*script_search("Three.", "To Graz: one."))
    async with busy.at_work() as running:
        assert await busy.write("m2") == "queued"
        assert await busy.list_waiting() == ["m2"]
    assert list_entered((await running).events) == []
    await busy.tab.run_queue()
    assert (await busy.history())[-2:] == [TO_GRAZ, ("assistant", "To Graz: one.")]


async def test_a_message_that_interrupts_stops_the_run_and_is_answered_before_those_that_wait(busy: BusyAgent) -> None:
    busy.model.script(Answer.calling(search(), text="Let me look."), "To Graz: one.", "You are welcome.")
    async with busy.at_work() as running:
        assert await busy.write("m2", "Thanks!", whileBusy="queue") == "queued"
        busy.clock.advance(0.01)
        assert await busy.write("m3", whileBusy="interrupt") == "interrupts"
        run = await running
    assert run.last["outcome"] == {"type": "cancelled"}
    await busy.tab.run_queue()
    spoken = [text for role, text in await busy.history() if role != "tool"]
    assert spoken == [
        "Find a flight.",
        "Let me look.",
        "To Graz, please.",
        "To Graz: one.",
        "Thanks!",
        "You are welcome.",
    ]
    assert await busy.list_waiting() == []


async def test_a_repeated_message_enters_once(busy: BusyAgent) -> None:
    busy.model.script(*script_search("Done."))
    async with busy.at_work() as running:
        assert [await busy.write("m2") for _ in range(3)] == ["steered"] * 3
    assert list_entered((await running).events) == ["m2"]
    assert await busy.write("m2") is None
    await busy.tab.run_queue()
    assert [text for role, text in await busy.history() if role == "user"] == ["Find a flight.", "To Graz, please."]


async def test_other_words_under_the_id_of_a_waiting_message_are_refused(busy: BusyAgent) -> None:
    busy.model.script(*script_search("Done."))
    async with busy.at_work():
        await busy.write("m2")
        assert await busy.write("m2", "To Linz!") == "message_id_conflict"


@pytest.mark.parametrize("mode", ["steer", "interrupt"])
async def test_nothing_can_be_steered_where_nothing_runs(busy: BusyAgent, mode: str) -> None:
    assert await busy.write("m2", whileBusy=mode) == "nothing_running"
    await busy.say("m1")
    assert await busy.write("m2", whileBusy=mode) == "nothing_running"
    with pytest.raises(NothingRunning):
        await busy.say("m3", while_busy=mode)
    assert await busy.write("m2") is None
    assert await busy.write("m1", "Hello", whileBusy=mode) is None  # it was answered: the turn is sent again


@pytest.mark.parametrize("mode", ["steer", "interrupt"])
async def test_a_run_that_waits_for_an_approval_cannot_be_steered(mode: str) -> None:
    busy = BusyAgent.with_approval()
    busy.model.script(Answer.calling(delete("home"), text="May I?"))
    await busy.say("m1", "Delete it.")
    assert await busy.write("m2", whileBusy=mode) == "waits_for_approval"


async def test_so_many_messages_wait_and_no_more() -> None:
    busy = BusyAgent()
    busy.model.script(*script_search("Done."))
    async with busy.at_work():
        for number in range(MAX_WAITING):
            assert await busy.write(f"w{number}") == "queued"
        assert await busy.write("late") == "queue_full"
        with pytest.raises(QueueFull):
            await busy.say("late", patience=0.1)
        assert await busy.write("w0") == "queued"  # a repetition takes no place
        await busy.app.waiting.withdraw(busy.ada, busy.thread_id, "w3")
        assert await busy.write("late") == "queued"
    assert len(await busy.list_waiting()) == MAX_WAITING


async def test_a_withdrawn_message_is_refused_and_not_answered() -> None:
    busy = BusyAgent()
    busy.model.script(*script_search("Three."))
    async with busy.at_work():
        await busy.write("m2")
        for _ in range(2):
            await busy.app.waiting.withdraw(busy.ada, busy.thread_id, "m2")
    await busy.tab.run_queue()
    assert len(busy.model.requests) == 2
    [refusal] = [event for event in busy.tab.take_events() if event["type"] == "RUN_ERROR"]
    assert (refusal["code"], refusal["metadata"]["messageId"]) == ("message_withdrawn", "m2")
    with pytest.raises(MessageWithdrawn):
        await busy.say("m2", "To Graz, please.")


async def test_a_message_chooses_within_what_the_agent_allows() -> None:
    busy = BusyAgent(while_busy_allowed=["queue", "interrupt"])
    busy.model.script(*script_search("Done."))
    async with busy.at_work():
        assert await busy.write("m2", whileBusy="steer") == "invalid_request"
        assert await busy.write("m2", whileBusy="now") == "invalid_request"
        assert await busy.write("m2") == "queued"


async def test_a_caller_over_http_gets_the_run_that_its_message_has_entered(busy: BusyAgent) -> None:
    busy.model.script(*script_search("Here are flights to Graz."))
    async with busy.at_work() as running:
        sending = asyncio.ensure_future(busy.say("m2", "To Graz, please."))
        await busy.wait_until_waiting("m2")
    run, answered = await running, await sending
    assert answered.types[0] == "RUN_STARTED"
    assert answered.text == run.text == "Here are flights to Graz."
    assert list_entered(answered.events) == ["m2"]
    assert await busy.list_waiting() == []
    assert len(busy.model.requests) == 2


async def test_a_caller_over_http_interrupts_and_gets_a_turn(busy: BusyAgent) -> None:
    busy.model.script(*script_search("To Graz: one."))
    async with busy.at_work() as running:
        answered = await busy.say("m2", "To Graz, please.", while_busy="interrupt")
        assert (await running).last["outcome"] == {"type": "cancelled"}
    assert answered.text == "To Graz: one."
    assert await busy.list_waiting() == []


async def test_a_caller_who_gives_up_waiting_leaves_nothing_that_enters_a_run(busy: BusyAgent) -> None:
    busy.model.script(*script_search("Three."))
    async with busy.at_work() as running:
        with pytest.raises(ThreadBusy):
            await busy.say("m2", "To Graz, please.", seconds=0.3)
        busy.clock.advance(1)
        assert await busy.list_waiting() == []
    assert list_entered((await running).events) == []


async def test_the_attempt_after_a_death_has_the_message_where_it_was(busy: BusyAgent) -> None:
    busy.model.script(*script_search(), Answer(("Here",), gate=asyncio.Event(), gate_at=1))
    async with busy.at_work() as dying:
        await busy.write("m2")
        busy.results_found.set()
        await busy.wait_for_requests(2)
        dying.cancel()
        await asyncio.wait([dying])
    busy.model.script(*script_search("Here are flights to Graz."))
    run = await busy.say("m1", "Find a flight.")
    assert list_entered(run.events) == ["m2"]
    assert await busy.history() == [*FOUND, TO_GRAZ, ("assistant", "Here are flights to Graz.")]
    await busy.tab.run_queue()
    assert [text for role, text in await busy.history() if role == "user"] == ["Find a flight.", "To Graz, please."]


async def test_an_attempt_that_calls_nothing_answers_the_message_after_its_own_answer(busy: BusyAgent) -> None:
    busy.model.script(*script_search(), Answer(("Here",), gate=asyncio.Event(), gate_at=1))
    async with busy.at_work() as dying:
        await busy.write("m2")
        busy.results_found.set()
        await busy.wait_for_requests(2)
        dying.cancel()
        await asyncio.wait([dying])
    busy.model.script("I know three flights.", "One of them is to Graz.")
    await busy.say("m1", "Find a flight.")
    assert await busy.history() == [
        ("user", "Find a flight."),
        ("assistant", "I know three flights."),
        TO_GRAZ,
        ("assistant", "One of them is to Graz."),
    ]


async def test_a_run_that_is_given_up_keeps_the_message_that_has_entered_it(busy: BusyAgent) -> None:
    busy.model.script(*script_search(), Answer(("Here",), gate=asyncio.Event(), gate_at=1))
    async with busy.at_work() as dying:
        await busy.write("m2")
        busy.results_found.set()
        await busy.wait_for_requests(2)
        dying.cancel()
        await asyncio.wait([dying])
    await busy.turns.give_up(busy.ada, busy.make_request("m1", "Find a flight."), subscriber=None)
    await busy.tab.run_queue()
    assert await busy.history() == [("user", "Find a flight."), TO_GRAZ]


async def test_a_message_noted_by_a_worker_without_its_lease_gets_a_turn(busy: BusyAgent) -> None:
    busy.model.script(*script_search("Three.", "To Graz: one.", "To Graz: one."))
    async with busy.at_work() as running:
        await busy.write("m2", whileBusy="queue")
    run = await running
    assert run.finished is not None
    await busy.note_entered("m2", run.finished.messages[0])
    await busy.tab.run_queue()
    assert (await busy.history())[-2:] == [TO_GRAZ, ("assistant", "To Graz: one.")]


async def test_an_approval_later_in_the_run_keeps_the_message_in_its_place() -> None:
    busy = BusyAgent.with_approval(while_busy="steer")
    busy.model.script(Answer.calling(search()), Answer.calling(delete("home"), text="May I?"))
    async with busy.at_work() as running:
        await busy.write("m2", "And delete it.")
    [interrupt] = (await running).last["outcome"]["interrupts"]
    busy.model.script("It is gone.")
    await decide(busy, yes(interrupt))
    run = [text for role, text in busy.prompt(2)]
    assert run == ["Find a flight.", "", "Three flights.", "And delete it.", "May I?", "home is gone."]


async def test_the_next_turn_has_the_message_in_its_history_and_pruning_keeps_the_exchange_whole(
    busy: BusyAgent,
) -> None:
    busy.model.script(*script_search("Here are flights to Graz."), "You are welcome.")
    async with busy.at_work():
        await busy.write("m2")
    await busy.tab.run_queue()
    await busy.say("m3", "Thanks!")
    assert busy.prompt(2) == [*FOUND, TO_GRAZ, ("assistant", "Here are flights to Graz."), ("user", "Thanks!")]


async def test_a_message_that_begins_a_branch_waits_whatever_the_agent_does(busy: BusyAgent) -> None:
    busy.model.script("Hello.", *script_search("Done."))
    await busy.say("m0")
    async with busy.at_work():
        assert await busy.write("m2", "Again.", branch={"from": "m0"}) == "queued"


async def test_a_message_that_has_entered_a_run_begins_no_branch(busy: BusyAgent) -> None:
    busy.model.script(*script_search("Done."))
    async with busy.at_work():
        await busy.write("m2")
    await busy.tab.run_queue()
    busy.tab.take_events()
    await busy.tab.send("message", messageId="m3", content="No, Linz.", branch={"from": "m2"})
    await busy.tab.run_queue()
    assert busy.tab.take_events()[-1]["code"] == "branch_unavailable"


async def test_a_sender_who_may_do_less_than_the_run_does_not_steer_it() -> None:
    busy = BusyAgent(while_busy="steer")
    busy.model.script(*script_search("Three.", "To Graz: one."))
    able = Scope("acme", "ada", frozenset({"refund:write"}))
    async with busy.at_work(scope=able) as running:
        assert await busy.write("m2") == "steered"
    assert list_entered((await running).events) == []
    await busy.tab.run_queue()
    assert (await busy.history())[-2:] == [TO_GRAZ, ("assistant", "To Graz: one.")]


async def test_a_stranger_learns_nothing_and_changes_nothing(busy: BusyAgent) -> None:
    busy.model.script(*script_search("Three."))
    eve = Scope("acme", "eve")
    async with busy.at_work() as running:
        await busy.tab.send("message", scope=eve, messageId="m2", content="Buy it!", whileBusy="queue")
        [accepted] = busy.tab.take_events()
        assert accepted["value"]["busy"] is None
        await busy.tab.send("message", scope=eve, messageId="m3", content="Buy it!", whileBusy="interrupt")
        assert busy.tab.take_events()[0]["code"] == "nothing_running"
    assert (await running).text == "Three."
    assert list_entered((await running).events) == []


async def test_a_message_that_was_sent_right_before_a_run_waits_like_one_that_was_sent_during_it() -> None:
    busy = BusyAgent(while_busy="interrupt")
    busy.model.script(*script_search("Three flights."), "There are flights to Graz.")
    assert await busy.write("m2") is None
    async with busy.at_work() as running:
        working = asyncio.ensure_future(busy.tab.run_queue())
        await busy.wait_until_waiting("m2")
    await asyncio.wait([running, working])
    assert await busy.history() == [
        *FOUND,
        ("assistant", "Three flights."),
        TO_GRAZ,
        ("assistant", "There are flights to Graz."),
    ]
    assert not await busy.live.waiting(busy.ada, busy.thread_id)


async def test_a_message_that_was_sent_right_before_a_run_can_be_withdrawn_while_it_waits() -> None:
    busy = BusyAgent()
    busy.model.script(*script_search("Three flights."))
    await busy.write("m2")
    async with busy.at_work() as running:
        working = asyncio.ensure_future(busy.tab.run_queue())
        await busy.wait_until_waiting("m2")
        await busy.app.waiting.withdraw(busy.ada, busy.thread_id, "m2")
    await asyncio.wait([running, working])
    assert await busy.history() == [*FOUND, ("assistant", "Three flights.")]
    assert [event["code"] for event in busy.tab.take_events() if event["type"] == "RUN_ERROR"] == ["message_withdrawn"]
