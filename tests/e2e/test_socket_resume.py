"""Coming back: after a lost connection, in the middle of a run, or with a message sent again."""

from __future__ import annotations

import pytest

from tests.e2e.ag_ui_rules import check_numbered, check_run, select_sequenced, text_of
from tests.e2e.cloud import RunningCloud
from tests.e2e.gates import Gate
from tests.e2e.sockets import SocketClient, new_id
from tests.e2e.users import User
from tests.fault_model import FaultModel, answers, unauthorized


async def test_a_resume_gives_exactly_what_followed(socket: SocketClient, alice: User, model: FaultModel) -> None:
    thread_id = new_id()
    model.script(answers("One two three four five.", delay=0.15), answers("Six."), unauthorized())
    events = [event for text in ("A", "B", "C") for event in await socket.say(text, thread_id=thread_id)]
    last = events[-1]["metadata"]["seq"]
    assert [event["metadata"]["seq"] for event in events] == list(range(1, last + 1))
    async with alice.connect() as other:
        for after in range(last + 1):
            await other.send("resume", threadId=thread_id, after=after)
            state = await other.receive()
            assert state["type"] == "STATE_SNAPSHOT"
            assert "seq" not in state["metadata"]
            assert state["metadata"]["resume"] == {"after": after, "lastSeq": last, "runId": None}
            assert state["snapshot"]["activeAgent"]["id"] == "assistant"
            assert [await other.receive() for _ in range(after, last)] == events[after:]
            await other.check_no_more_events()


async def test_messages_and_a_resume_after_their_last_seq_are_the_whole_conversation_at_every_moment(
    socket: SocketClient, alice: User, model: FaultModel
) -> None:
    thread_id = f"order-{new_id()}"
    gate, next_gate = Gate("It was a dark ", "and stormy night."), Gate("The next ", "morning.")
    model.script(answers("Hello."), gate.behaviour, next_gate.behaviour)
    first = await socket.say("Hello", thread_id=thread_id)
    assert (await alice.read(f"/threads/{thread_id}/messages"))["lastSeq"] == first[-1]["metadata"]["seq"]

    await socket.send("message", threadId=thread_id, messageId="m-2", content="Tell me a story")
    story = select_sequenced(await socket.receive_until("TEXT_MESSAGE_CONTENT"))
    await socket.send("message", threadId=thread_id, messageId="m-3", content="And then?")  # waits behind it
    page = await alice.read(f"/threads/{thread_id}/messages")
    assert ([message["content"] for message in page["items"]], page["lastSeq"]) == (["Hello", "Hello."], 6)
    async with alice.connect() as other:
        await other.send("resume", threadId=thread_id, after=page["lastSeq"])
        gate.open()  # the run ends between the two requests of anybody who reads the messages only now
        story += select_sequenced(await socket.receive_until("RUN_FINISHED"))
        seen = select_sequenced(await other.receive_until(lambda event: event == story[-1]))
        next_gate.open()
        more = select_sequenced(await socket.receive_until("RUN_FINISHED"))
        seen += select_sequenced(await other.receive_until(lambda event: event == more[-1]))
    # The next run may begin before what was said meanwhile has been read for the newcomer: clients go by the numbers.
    whole = sorted(without_repeats(seen), key=lambda event: event["metadata"]["seq"])
    assert whole == story + more
    assert whole[0]["input"]["messages"][0]["content"] == "Tell me a story"
    assert await alice.follow(thread_id, after=page["lastSeq"]) == story + more
    page = await alice.read(f"/threads/{thread_id}/messages")
    assert (len(page["items"]), page["lastSeq"]) == (6, more[-1]["metadata"]["seq"])


async def test_an_older_page_of_messages_names_the_last_seq_of_now(socket: SocketClient, alice: User) -> None:
    thread_id = new_id()
    last = [await socket.say(text, thread_id=thread_id) for text in ("A", "B")][-1][-1]["metadata"]["seq"]
    newest = await alice.read(f"/threads/{thread_id}/messages", limit=2)
    older = await alice.read(f"/threads/{thread_id}/messages", limit=2, cursor=newest["nextCursor"])
    assert (newest["lastSeq"], older["lastSeq"]) == (last, last)


@pytest.mark.parametrize("beyond", [1, 100, 10**12 - 100])
async def test_a_resume_beyond_the_end_is_refused(socket: SocketClient, beyond: int) -> None:
    thread_id = new_id()
    last = (await socket.say("Hello", thread_id=thread_id))[-1]["metadata"]["seq"]
    await socket.send("resume", threadId=thread_id, after=last + beyond)
    assert (await socket.receive_refusal())["code"] == "invalid_sequence"
    await socket.check_no_more_events()


async def test_a_client_that_comes_in_the_middle_of_a_run_misses_nothing(
    socket: SocketClient, alice: User, model: FaultModel
) -> None:
    thread_id = new_id()
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(answers("Hello."), gate.behaviour)
    first = await socket.say("Hello", thread_id=thread_id)
    await socket.send("message", threadId=thread_id, messageId="m-2", content="Tell me a story")
    started = select_sequenced(await socket.receive_until("TEXT_MESSAGE_CONTENT"))
    async with alice.connect() as other:
        await other.send("resume", threadId=thread_id, after=2)
        state = await other.receive()
        assert state["metadata"]["resume"]["after"] == 2
        assert state["metadata"]["resume"]["runId"] == started[0]["runId"]
        gate.open()
        run = started + select_sequenced(await socket.receive_until("RUN_FINISHED"))
        later = select_sequenced(await other.receive_until(lambda event: event == run[-1]))
    check_run(run)
    assert without_repeats(later) == [*first[2:], *run]


async def test_a_connection_lost_in_the_middle_of_a_run_is_taken_up_by_the_next(alice: User, model: FaultModel) -> None:
    thread_id = new_id()
    gate = Gate()
    model.script(gate.behaviour)
    async with alice.connect() as lost:
        await lost.send("message", threadId=thread_id, messageId="m-1", content="Hello")
        seen = select_sequenced(await lost.receive_until("TEXT_MESSAGE_CONTENT"))
        lost.connection.transport.abort()
    async with alice.connect() as socket:
        await socket.send("resume", threadId=thread_id, after=seen[-1]["metadata"]["seq"])
        gate.open()
        # What is not logged yet comes to a newcomer as a whole: a client drops what it has.
        seen = without_repeats([*seen, *select_sequenced(await socket.receive_until("RUN_FINISHED"))])
    check_run(seen)
    assert text_of(seen) == gate.text
    assert [message["content"] for message in await alice.messages(thread_id)] == ["Hello", gate.text]


async def test_a_repeated_message_gets_the_same_events_and_no_second_turn(
    socket: SocketClient, alice: User, model: FaultModel, cloud: RunningCloud, tenant: str
) -> None:
    thread_id = new_id()
    run = await socket.say("Hello", thread_id=thread_id, message_id="m-1")
    await socket.say("And again", thread_id=thread_id)
    async with alice.connect() as other:
        _, repeated = await other.exchange(threadId=thread_id, messageId="m-1", content="Hello")
        assert repeated == run
        await other.check_no_more_events()
    await socket.check_no_more_events()
    assert len(model.requests) == 2
    assert len(cloud.turns(tenant)) == 2
    assert len(await alice.messages(thread_id)) == 4


async def test_a_message_repeated_at_once_is_answered_once(
    socket: SocketClient, alice: User, model: FaultModel, cloud: RunningCloud, tenant: str
) -> None:
    thread_id = new_id()
    gate = Gate()
    model.script(gate.behaviour)
    async with alice.connect() as other:
        await socket.send("message", threadId=thread_id, messageId="m-1", content="Hello")
        started = select_sequenced(await socket.receive_until("TEXT_MESSAGE_CONTENT"))
        await socket.send("message", threadId=thread_id, messageId="m-1", content="Hello")
        await other.send("message", threadId=thread_id, messageId="m-1", content="Hello")
        await other.receive_until(lambda event: event.get("name") == "message_accepted")
        gate.open()
        run = started + select_sequenced(await socket.receive_until("RUN_FINISHED"))
        check_run(run)
        assert without_repeats(select_sequenced(await other.receive_until("RUN_FINISHED"))) == run
        assert select_sequenced(await socket.receive_until("RUN_FINISHED")) == run  # its own repetition
    assert len(model.requests) == 1
    assert len(cloud.turns(tenant)) == 1
    assert len(await alice.messages(thread_id)) == 2


async def test_a_message_repeated_over_http_while_it_is_answered_gets_the_same_answer(
    socket: SocketClient, alice: User, model: FaultModel
) -> None:
    thread_id = new_id()
    gate = Gate()
    model.script(gate.behaviour)
    await socket.send("message", threadId=thread_id, messageId="m-1", content="Hello")
    started = select_sequenced(await socket.receive_until("TEXT_MESSAGE_CONTENT"))
    body = {
        "threadId": thread_id,
        "runId": started[0]["runId"],
        "messages": [{"id": "m-1", "role": "user", "content": "Hello"}],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
    }
    async with alice.stream("POST", "/runs", json=body) as stream:
        followed = [await anext(stream)]
        gate.open()
        followed += [event async for event in stream]
    run = started + select_sequenced(await socket.receive_until("RUN_FINISHED"))
    assert select_sequenced(followed) == run
    answer = await alice.ask("Hello", sessionId=thread_id, messageId="m-1")
    assert answer["messages"][-1]["content"] == gate.text
    assert len(model.requests) == 1


async def test_a_failed_message_repeated_fails_the_same_way_without_the_model(
    socket: SocketClient, model: FaultModel
) -> None:
    model.script(unauthorized())
    failed = await socket.say("Hello", thread_id="failing", message_id="m-1")
    assert failed[-1]["type"] == "RUN_ERROR"
    _, again = await socket.exchange(threadId="failing", messageId="m-1", content="Hello")
    assert again == failed
    assert len(model.requests) == 1


async def test_a_resumed_thread_goes_on_live(socket: SocketClient, alice: User) -> None:
    thread_id = new_id()
    first = await socket.say("Hello", thread_id=thread_id)
    async with alice.connect() as other:
        await other.send("resume", threadId=thread_id, after=first[-1]["metadata"]["seq"])
        assert (await other.receive())["type"] == "STATE_SNAPSHOT"
        await other.check_no_more_events()
        await alice.ask("Live", sessionId=thread_id)
        run = await other.receive_until("RUN_FINISHED")
        check_run(run)
        check_numbered(first + run)


def without_repeats(events: list[dict[str, object]]) -> list[dict[str, object]]:
    """The events that a client keeps: each sequence number once; repetitions must be the same."""
    stored: dict[int, dict[str, object]] = {}
    for event in events:
        seq = event["metadata"]["seq"]  # type: ignore[index]
        assert stored.setdefault(seq, event) == event
    return list(stored.values())
