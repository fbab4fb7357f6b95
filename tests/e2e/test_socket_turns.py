"""A conversation over one WebSocket, or several."""

from __future__ import annotations

import uuid

from websockets.asyncio.client import ClientConnection

from tests.e2e.ag_ui_rules import check_numbered, check_run, select_sequenced, text_of
from tests.e2e.cloud import RunningCloud
from tests.e2e.fixtures import NewUser
from tests.e2e.gates import Gate
from tests.e2e.sockets import MAX_FRAME_BYTES, SocketClient, new_id
from tests.e2e.users import User
from tests.fault_model import FaultModel, answers, chunk, sends


async def test_a_message_is_accepted_and_answered_as_one_run(socket: SocketClient) -> None:
    thread_id, message_id = new_id(), new_id()
    accepted, run = await socket.exchange(threadId=thread_id, messageId=message_id, content="Good morning")
    assert (accepted["type"], accepted["name"]) == ("CUSTOM", "message_accepted")
    assert accepted["value"] == {"messageId": message_id, "threadId": thread_id, "busy": None}
    assert "seq" not in accepted["metadata"]
    check_run(run)
    kinds = [event["type"] for event in run]
    contents = kinds.count("TEXT_MESSAGE_CONTENT")
    assert kinds == [
        "RUN_STARTED",
        "STATE_SNAPSHOT",
        "TEXT_MESSAGE_START",
        *["TEXT_MESSAGE_CONTENT"] * contents,
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    assert run[0]["metadata"]["seq"] == 1
    assert text_of(run) == "Good morning"


async def test_a_run_begins_with_the_message_it_answers(socket: SocketClient) -> None:
    message_id = new_id()
    started = (await socket.say("Good morning", message_id=message_id))[0]
    assert started["metadata"]["messageId"] == message_id
    assert started["protocolVersion"] == "1.0"
    [message] = started["input"]["messages"]
    assert (message["id"], message["role"], message["content"]) == (message_id, "user", "Good morning")


async def test_a_run_shows_the_state_who_speaks_and_what_it_cost(socket: SocketClient, model: FaultModel) -> None:
    model.script(answers("Hello there."))
    run = await socket.say("Hi")
    state = run[1]["snapshot"]
    assert state["activeAgent"] == {
        "id": "assistant",
        "name": "Assistant",
        "description": "Answers questions, and knows whom to ask.",
        "avatarUrl": None,
        "isMain": True,
    }
    assert (state["workflow"], state["resumable"], state["status"]) == (None, [], "active")
    opened = run[2]
    assert (opened["role"], opened["name"], opened["metadata"]["agentId"]) == ("assistant", "Assistant", "assistant")
    assert run[-2]["metadata"]["sources"] == []
    finished = run[-1]
    assert finished["outcome"] == {"type": "success"}
    [usage] = finished["usage"]
    assert usage["model"] == "fault-1"
    assert usage["totalTokens"] == usage["inputTokens"] + usage["outputTokens"]
    assert usage["outputTokens"] == 2


async def test_the_next_turn_knows_what_was_said_and_counts_on(socket: SocketClient, model: FaultModel) -> None:
    thread_id = new_id()
    model.script(answers("Hello Ada."), answers("You are Ada."))
    first = await socket.say("I am Ada.", thread_id=thread_id)
    second = await socket.say("Who am I?", thread_id=thread_id)
    assert second[0]["metadata"]["seq"] == first[-1]["metadata"]["seq"] + 1
    assert second[0]["runId"] != first[0]["runId"]
    assert model.requests[1].dialogue == [("user", "I am Ada."), ("assistant", "Hello Ada."), ("user", "Who am I?")]
    assert model.requests[1].prompts[0][0] == "system"


async def test_a_new_thread_knows_nothing_of_others(socket: SocketClient, model: FaultModel) -> None:
    await socket.say("I am Ada.")
    await socket.say("Who am I?")
    assert [role for role, _ in model.requests[1].prompts] == ["system", "system", "user"]


async def test_messages_sent_while_a_turn_runs_are_answered_in_order(socket: SocketClient, model: FaultModel) -> None:
    thread_id, ids = new_id(), [new_id() for _ in range(3)]
    gate = Gate()
    model.script(gate.behaviour)
    for number, message_id in enumerate(ids):
        await socket.send("message", threadId=thread_id, messageId=message_id, content=f"Message {number}")
    accepted = 0
    events = []
    while accepted < len(ids):
        event = await socket.receive()
        events.append(event)
        accepted += event.get("name") == "message_accepted"
    gate.open()
    while sum(event["type"] == "RUN_FINISHED" for event in events) < len(ids):
        events += await socket.receive_until("RUN_FINISHED")
    run_events = select_sequenced(events)
    check_numbered(run_events)
    started = [event["metadata"]["messageId"] for event in run_events if event["type"] == "RUN_STARTED"]
    assert started == ids
    kinds = [event["type"] for event in run_events if event["type"].startswith("RUN_")]
    assert kinds == ["RUN_STARTED", "RUN_FINISHED"] * 3
    assert [prompt for _, prompt in model.requests[-1].dialogue] == [
        "Message 0",
        gate.text,
        "Message 1",
        "Message 1",
        "Message 2",
    ]


async def test_text_is_streamed_while_the_model_speaks(socket: SocketClient, model: FaultModel) -> None:
    gate = Gate("First ", "then.")
    model.script(gate.behaviour)
    await socket.send("message", threadId=new_id(), messageId=new_id(), content="Take your time.")
    before = await socket.receive_until("TEXT_MESSAGE_CONTENT")
    assert text_of(before) == "First "
    gate.open()
    after = await socket.receive_until("RUN_FINISHED")
    assert text_of(after) == "then."
    check_run(select_sequenced(before + after))


async def test_everybody_who_watches_a_thread_sees_all_of_it(socket: SocketClient, alice: User) -> None:
    thread_id = new_id()
    async with alice.connect() as other:
        first = await socket.say("From the first", thread_id=thread_id)
        await other.send("resume", threadId=thread_id, after=0)
        assert select_sequenced(await other.receive_until("RUN_FINISHED")) == first
        _, seen = await other.exchange(threadId=thread_id, messageId="m-2", content="From the second")
        assert select_sequenced(await socket.receive_until("RUN_FINISHED")) == seen
        assert seen[0]["input"]["messages"][0]["content"] == "From the second"
        _, seen = await socket.exchange(threadId=thread_id, messageId="m-3", content="From the first again")
        assert select_sequenced(await other.receive_until("RUN_FINISHED")) == seen
        await socket.check_no_more_events()
        await other.check_no_more_events()


async def test_a_connection_that_wrote_to_two_threads_sees_both(socket: SocketClient, alice: User) -> None:
    threads = [new_id(), new_id()]
    for thread_id in threads:
        await socket.say("Hello", thread_id=thread_id)
    for thread_id in threads:
        await alice.ask("Hello from elsewhere", sessionId=thread_id)
        run = select_sequenced(await socket.receive_until("RUN_FINISHED"))
        check_run(run)
        assert run[0]["threadId"] == thread_id


async def test_turns_over_http_are_seen_by_those_who_watch(socket: SocketClient, alice: User) -> None:
    thread_id = new_id()
    first = await socket.say("Over the socket", thread_id=thread_id)
    answer = await alice.ask("Over HTTP", sessionId=thread_id)
    run = select_sequenced(await socket.receive_until("RUN_FINISHED"))
    check_numbered(first + run)
    assert run[0]["runId"] == answer["runId"]
    assert run[0]["input"]["messages"][0]["content"] == "Over HTTP"


async def test_a_watcher_that_left_hinders_nobody(socket: SocketClient, alice: User) -> None:
    thread_id = new_id()
    await socket.say("Hello", thread_id=thread_id)
    async with alice.connect() as other:
        await other.send("resume", threadId=thread_id, after=0)
        await other.receive_until("RUN_FINISHED")
        abort(other.connection)
    assert text_of(await socket.say("Still there?", thread_id=thread_id)) == "Still there?"


async def test_no_event_is_lost_when_the_gateway_throttles(
    socket: SocketClient, cloud: RunningCloud, model: FaultModel
) -> None:
    gate = Gate()
    model.script(gate.behaviour)
    await socket.send("message", threadId=new_id(), messageId=new_id(), content="Hello")
    before = await socket.receive_until("TEXT_MESSAGE_CONTENT")
    cloud.throttle(3)
    gate.open()
    run = select_sequenced(before + await socket.receive_until("RUN_FINISHED"))
    check_run(run)
    assert text_of(run) == gate.text


async def test_an_answer_of_any_length_comes_in_small_frames(socket: SocketClient, model: FaultModel) -> None:
    text = 'Zwölf große Boxkämpfer jagen „Viktor“ 🥊 \\ " \n' * 2_500
    model.script(sends(chunk({"content": text}), chunk({}, "stop"), "[DONE]"))
    run = await socket.say("Tell me everything.")
    assert text_of(run) == text
    assert not [frame for frame in socket.frames if '"PART"' in frame[:20]]


async def test_a_large_message_is_shown_to_watchers_in_parts(
    socket: SocketClient, alice: User, model: FaultModel
) -> None:
    thread_id, text = new_id(), "Ein sehr langer Brief, „Wort für Wort“. 📜 " * 5_000
    assert len(text.encode()) > 200_000
    await socket.say("Watch this.", thread_id=thread_id)
    model.script(answers("I have read it."))
    await alice.ask(text, sessionId=thread_id)
    run = select_sequenced(await socket.receive_until("RUN_FINISHED"))
    check_run(run)
    assert run[0]["input"]["messages"][0]["content"] == text
    parts = [frame for frame in socket.frames if frame.startswith('{"type": "PART"')]
    assert len(parts) >= len(text.encode()) / MAX_FRAME_BYTES
    # The history is nearly full: the light model may have been asked for a summary since.
    assert ("user", text) in [request.prompts[-1] for request in model.requests]
    async with alice.connect() as other:
        await other.send("resume", threadId=thread_id, after=run[0]["metadata"]["seq"] - 1)
        assert select_sequenced(await other.receive_until("RUN_FINISHED")) == run


async def test_a_thread_made_by_omitting_its_id_is_found_again(socket: SocketClient, alice: User) -> None:
    first = await socket.say("Begin", message_id="first-of-all")
    thread_id = first[0]["threadId"]
    accepted, again = await socket.exchange(messageId="first-of-all", content="Begin")
    assert accepted["value"]["threadId"] == thread_id
    assert again == first
    answer = await alice.ask("Begin", messageId="first-of-all")
    assert answer["sessionId"] == thread_id
    assert len(await alice.messages(thread_id)) == 2


async def test_threads_made_by_omitting_the_id_are_each_users_own(
    socket: SocketClient, new_user: NewUser, alice: User
) -> None:
    first = await socket.say("Begin", message_id="first-of-all")
    others = [new_user("bob"), new_user("alice", tenant=f"t-{uuid.uuid4().hex}")]
    answers_to_others = [await other.ask("Begin", messageId="first-of-all") for other in others]
    assert len({first[0]["threadId"], *(answer["sessionId"] for answer in answers_to_others)}) == 3


async def test_a_hosts_own_id_stands_for_one_thread(socket: SocketClient, alice: User, new_user: NewUser) -> None:
    accepted, run = await socket.exchange(threadId="booking-4711", messageId="m-1", content="Two nights, please.")
    thread_id = accepted["value"]["threadId"]
    assert uuid.UUID(thread_id).version == 5
    assert run[0]["threadId"] == thread_id
    assert (await socket.say("Three.", thread_id=thread_id))[0]["metadata"]["seq"] == run[-1]["metadata"]["seq"] + 1
    assert (await alice.ask("Four.", sessionId="booking-4711"))["sessionId"] == thread_id
    assert await alice.read("/threads/booking-4711") == await alice.read(f"/threads/{thread_id}")
    assert len(await alice.messages("booking-4711")) == 6
    await socket.receive_until("RUN_FINISHED")
    await socket.send("resume", threadId="booking-4711", after=0)
    assert (await socket.receive())["metadata"]["threadId"] == thread_id
    elsewhere = new_user("alice", tenant=f"t-{uuid.uuid4().hex}")
    assert (await elsewhere.ask("Mine.", sessionId="booking-4711"))["sessionId"] != thread_id


async def test_a_uuid_is_answered_in_lower_case(socket: SocketClient, alice: User) -> None:
    thread_id = new_id()
    run = await socket.say("Loud", thread_id=thread_id.upper())
    assert {event["metadata"]["threadId"] for event in run} == {thread_id}
    assert run[0]["threadId"] == thread_id
    assert (await alice.read(f"/threads/{thread_id.upper()}"))["id"] == thread_id
    assert (await alice.ask("Louder", sessionId=thread_id.upper()))["sessionId"] == thread_id


def abort(connection: ClientConnection) -> None:
    """Drop the connection without a goodbye."""
    connection.transport.abort()
