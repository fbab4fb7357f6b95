"""Runs that are followed, across everything that can happen to a connection."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

import baton_client
from baton_client import AsyncBaton, RunStream, conditions
from baton_client.events import (
    ReasoningMessageContentEvent,
    ReasoningMessageStartEvent,
    UnknownEvent,
    metadata_of,
    seq_of,
)
from tests.unit.client.scripted import (
    THREAD_ID,
    Answer,
    Json,
    Script,
    Served,
    make_end,
    make_message_events,
    make_start,
    number_events,
    problem,
    run,
    stream,
    thought,
)

RUNS = "POST /v1/runs"
EVENTS = f"GET /v1/threads/{THREAD_ID}/events"
CANCEL = f"POST /v1/threads/{THREAD_ID}/cancel"
LOST = httpx.ReadError("lost")
WHOLE = run("Nothing ", "is ", "lost.")


def ask(served: Served, **options: Any) -> RunStream:
    return served.client.runs.stream("Hello", thread_id=THREAD_ID, **options)


def seqs(followed: RunStream) -> list[int | None]:
    return [seq_of(event) for event in followed]


def test_a_run_is_events_text_and_a_result(served: Served) -> None:
    sources = [
        {"kind": "document", "id": "d", "title": "Manual", "agentId": "shop"},
        {"kind": "x", "id": "x", "page": "iv"},
    ]
    events = [*WHOLE[:-2], {**WHOLE[-2], "metadata": {**WHOLE[-2]["metadata"], "sources": sources}}, WHOLE[-1]]
    served.script.answer(RUNS, stream(*events))
    with ask(served) as followed:
        assert list(followed.texts()) == ["Nothing ", "is ", "lost."]
        result = followed.result()
    assert (result.text, result.outcome, result.run_id, result.last_seq) == ("Nothing is lost.", "success", "run-1", 7)
    manual, other = result.sources
    assert (manual.kind, manual.title, manual.agent_id) == ("document", "Manual", "shop")
    assert (other.kind, other.id) == ("x", "x")
    assert result.messages[0].agent_name == "Assistant"
    assert len(served.script.requests) == 1


def test_a_message_to_people_is_delivered_and_has_the_author_of_an_answer(served: Served) -> None:
    author = {"kind": "person", "id": "anna", "name": "Anna", "avatarUrl": None}
    start = next(event for event in WHOLE if event["type"] == "TEXT_MESSAGE_START")
    by_anna = {**start, "metadata": {**start["metadata"], "author": author}}
    delivered = {**WHOLE[-1], "outcome": {"type": "delivered"}}
    served.script.answer(RUNS, stream(*(by_anna if event is start else event for event in WHOLE[:-1]), delivered))
    with ask(served) as followed:
        result = followed.result()
    assert result.outcome == "delivered"
    [message] = result.messages
    assert message.author is not None
    assert (message.author.id, message.author.name) == ("anna", "Anna")


def test_thinking_comes_as_events_of_its_own_and_is_no_part_of_the_text(served: Served) -> None:
    events = number_events([make_start(), *thought("The user ", "greets."), *make_message_events("Hello."), make_end()])
    served.script.answer(RUNS, stream(*events), stream(*events))
    with ask(served) as followed:
        read = list(followed)
        assert followed.text == followed.result().text == "Hello."
        assert [message.text for message in followed.state.messages] == ["Hello."]
    assert [seq_of(event) for event in read] == list(range(1, len(events) + 1))
    pieces = [event.delta for event in read if isinstance(event, ReasoningMessageContentEvent)]
    assert "".join(pieces) == "The user greets."
    [start] = [event for event in read if isinstance(event, ReasoningMessageStartEvent)]
    assert metadata_of(start)["agentName"] == "Assistant"
    with ask(served) as followed:
        assert list(followed.texts()) == ["Hello."]


@pytest.mark.parametrize("read", range(len(WHOLE)))
@pytest.mark.parametrize("error", [LOST, httpx.ReadTimeout("silent"), None], ids=["lost", "silent", "ended"])
def test_a_connection_that_ends_after_any_event_loses_and_repeats_nothing(
    served: Served, read: int, error: Exception | None
) -> None:
    served.script.answer(RUNS, stream(*WHOLE[:read], error=error), stream(*WHOLE))
    served.script.answer(EVENTS, httpx.ConnectError("down"), problem(503, "x"), stream(*WHOLE[max(read - 2, 0) :]))
    with ask(served) as followed:
        assert seqs(followed) == [1, 2, 3, 4, 5, 6, 7]
        assert followed.text == "Nothing is lost."
    bodies = {request.content for request in served.script.sent(RUNS)}
    assert len(bodies) == 1
    assert {request.url.params["after"] for request in served.script.sent(EVENTS)} <= {str(read)}


def test_what_is_missing_in_the_middle_is_asked_for(served: Served) -> None:
    served.script.answer(RUNS, stream(*WHOLE[:3], *WHOLE[4:]))
    served.script.answer(EVENTS, stream(*WHOLE[3:]))
    assert seqs(ask(served)) == [1, 2, 3, 4, 5, 6, 7]


def test_what_the_server_does_not_have_either_is_gone(served: Served) -> None:
    served.script.answer(RUNS, stream(*WHOLE[:3], *WHOLE[4:]))
    served.script.answer(EVENTS, stream(*WHOLE[4:]))
    assert seqs(ask(served)) == [1, 2, 3, 5, 6, 7]


def test_one_who_may_answer_but_not_read_sees_the_ends_only(served: Served) -> None:
    served.script.answer(RUNS, stream(WHOLE[0], WHOLE[-1]))
    served.script.answer(EVENTS, problem(404, "thread_unavailable"))
    assert seqs(ask(served)) == [1, 7]


def test_what_a_dead_worker_said_is_dropped(served: Served) -> None:
    first = number_events([make_start(), *make_message_events("Half of")[:2]])
    second_attempt = number_events([make_start(), *make_message_events("All of it."), make_end()], start=9, attempt=2)
    second_attempt[0]["metadata"]["previousSeq"] = 3
    served.script.answer(RUNS, stream(*first, *second_attempt))
    result = ask(served).result()
    assert result.text == "All of it."
    assert len(served.script.requests) == 1


def test_a_program_can_drop_the_pieces_of_an_answer_that_begins_again(served: Served) -> None:
    first = [*number_events([make_start(), *make_message_events("Half ")[:2]])]
    second_attempt = number_events([make_start(), *make_message_events("All of it."), make_end()], start=9, attempt=2)
    second_attempt[0]["metadata"]["previousSeq"] = 3
    served.script.answer(RUNS, stream(*first, *second_attempt))
    pieces: list[str] = []
    with ask(served) as followed:
        for piece in followed.texts(on_restart=pieces.clear):
            pieces.append(piece)  # noqa: PERF402 - it is cleared meanwhile
    assert pieces == ["All of it."]


def test_messages_stand_for_events_that_the_log_no_longer_has(served: Served) -> None:
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": []}
    served.script.answer(RUNS, stream(*WHOLE[:2], error=LOST))
    served.script.answer(EVENTS, stream(snapshot, *WHOLE[5:]))
    assert seqs(ask(served)) == [1, 2, None, 6, 7]


def test_an_answer_given_long_ago_is_sent_as_a_whole(served: Served) -> None:
    about = {"metadata": {"replayed": True, "runId": "run-0", "threadId": THREAD_ID}}
    messages = [{"id": "u", "role": "user", "content": "Hello"}, {"id": "a", "role": "assistant", "content": "Hi."}]
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": messages}
    served.script.answer(
        RUNS, stream(*({**event, **about} for event in (make_start("run-0"), snapshot, make_end("run-0"))))
    )
    result = ask(served).result()
    assert (result.text, result.run_id) == ("Hi.", "run-0")


def test_other_runs_of_the_conversation_are_passed_over(served: Served) -> None:
    other = run("Another.", run_id="run-2", start=8)
    served.script.answer(RUNS, stream(*WHOLE[:4], error=LOST))
    served.script.answer(
        EVENTS, stream(*WHOLE[4:6], *other), stream({**WHOLE[6], "metadata": {**WHOLE[6]["metadata"], "seq": 13}})
    )
    result = ask(served).result()
    assert result.text == "Nothing is lost."


def test_events_of_a_later_server_are_passed_on(served: Served) -> None:
    events = number_events(
        [
            make_start(),
            {"type": "HOLOGRAM", "of": "tomorrow"},
            {"type": "STEP_STARTED"},
            *make_message_events("Hi"),
            make_end(),
        ]
    )
    served.script.answer(RUNS, stream(*events))
    with ask(served) as followed:
        unknown = [event.raw["type"] for event in followed if isinstance(event, UnknownEvent)]
    assert unknown == ["HOLOGRAM", "STEP_STARTED"]
    assert followed.text == "Hi"


@pytest.mark.parametrize(
    "body",
    [
        b"data: nonsense\n\n",
        b"data: []\n\n",
        b'data: {"type": "RUN_FINISHED"}\n\n',
        b"data: " + b"x" * (65 * 1024 * 1024),
    ],
    ids=["no json", "no event", "not as described", "without an end"],
)
def test_a_stream_that_is_none_ends_in_an_error(served: Served, body: bytes) -> None:
    headers = {"content-type": "text/event-stream"}
    served.script.answer(RUNS, httpx.Response(200, headers=headers, content=body))
    with pytest.raises(baton_client.UnexpectedAnswerError), ask(served) as followed:
        followed.result()


def test_a_page_is_no_stream(served: Served) -> None:
    served.script.answer(RUNS, httpx.Response(200, text="<html>", headers={"content-type": "text/html"}))
    with pytest.raises(baton_client.UnexpectedAnswerError, match="Is base_url the address of Baton"):
        ask(served).result()


def test_a_refused_message_is_an_error_of_its_kind(served: Served) -> None:
    served.script.answer(RUNS, problem(409, "message_id_conflict"))
    with pytest.raises(conditions.MessageIdConflictError), ask(served) as followed:
        followed.result()
    assert served.script.sent(CANCEL) == []


def test_a_run_that_fails_is_an_error_of_its_kind(served: Served) -> None:
    failed = {"type": "RUN_ERROR", "message": "Try later.", "code": "model_unavailable"}
    about = {"retryable": True, "requestId": "req-1", "retryAfter": 40}
    served.script.answer(RUNS, stream(*WHOLE[:3], *number_events([{**failed, "metadata": about}], start=4)))
    with pytest.raises(baton_client.APIStatusError) as caught, ask(served) as followed:
        followed.result()
    error = caught.value
    assert (error.code, error.retryable, error.run_id, error.seq) == ("model_unavailable", True, "run-1", 4)
    assert (error.request_id, error.retry_after) == ("req-1", 40)
    assert served.script.sent(CANCEL) == []


EXPIRED: Json = {"type": "RUN_ERROR", "code": "token_expired", "message": "Come again.", "metadata": {}}


def test_a_token_that_expires_in_the_stream_is_renewed(served: Served) -> None:
    tokens = iter(["old", "new"])
    served.script.answer(RUNS, stream(*WHOLE[:4], EXPIRED))
    served.script.answer(EVENTS, stream(*WHOLE[4:]))
    client = served.client.with_options(token=lambda: next(tokens))
    assert client.runs.stream("Hello", thread_id=THREAD_ID).result().text == "Nothing is lost."
    assert served.script.requests[-1].headers["authorization"] == "Bearer new"


def test_an_expired_token_that_nothing_renews_ends_the_stream_with_an_error(served: Served) -> None:
    served.script.answer(RUNS, stream(*WHOLE[:4], EXPIRED))
    with pytest.raises(baton_client.AuthenticationError, match="the run goes on"):
        ask(served).result()


def test_a_server_that_refuses_every_new_token_is_given_up(served: Served) -> None:
    served.script.answer(RUNS, stream(EXPIRED))
    with pytest.raises(baton_client.StreamInterruptedError):
        served.client.with_options(token=lambda: "new").runs.stream("Hello", thread_id=THREAD_ID).result()


def test_a_server_that_was_never_there_is_not_waited_for(served: Served) -> None:
    served.script.answer(RUNS, httpx.ConnectError("refused"))
    with pytest.raises(baton_client.APIConnectionError), ask(served) as followed:
        followed.result()
    assert len(served.script.requests) == 3


def test_a_server_that_stays_away_is_given_up_and_can_be_asked_later(served: Served) -> None:
    served.script.answer(RUNS, stream(*WHOLE[:4], error=LOST))
    served.script.answer(EVENTS, httpx.ConnectError("down"))
    with pytest.raises(baton_client.StreamInterruptedError) as caught, ask(served) as followed:
        followed.result()
    error = caught.value
    assert (error.thread_id, error.run_id, error.last_seq) == (THREAD_ID, "run-1", 4)
    assert served.clock.now <= 1000 + 120 + 30
    assert served.script.sent(CANCEL) == []

    served.script.answer(EVENTS, stream(*WHOLE[4:]))
    second_stream = served.client.runs.follow(error.thread_id, run_id=error.run_id, after=error.last_seq)
    assert seqs(second_stream) == [5, 6, 7]


@pytest.mark.parametrize("nothing", [stream(), stream({"type": "CUSTOM", "name": "heartbeat", "value": {}})])
def test_a_server_that_forgets_the_run_is_given_up(served: Served, nothing: Answer) -> None:
    served.script.answer(RUNS, stream(*WHOLE[:4], error=LOST))
    served.script.answer(EVENTS, nothing)
    with pytest.raises(baton_client.StreamInterruptedError):
        ask(served).result()


def test_where_nothing_goes_on_there_is_nothing_to_follow(served: Served) -> None:
    served.script.answer(EVENTS, stream())
    assert served.client.runs.follow(THREAD_ID).result().outcome == "none"


def test_a_run_in_progress_is_followed_to_its_end_and_no_further(served: Served) -> None:
    served.script.answer(EVENTS, stream(*WHOLE[3:], *run("More.", run_id="run-2", start=8)))
    with served.client.runs.follow(THREAD_ID, after=3) as followed:
        assert seqs(followed) == [4, 5, 6, 7]
    assert served.script.sent(CANCEL) == []


def test_a_conversation_is_followed_without_end(served: Served) -> None:
    served.script.answer(EVENTS, stream(*WHOLE), stream(), LOST, stream(*run("More.", run_id="run-2", start=8)))
    events = iter(served.client.threads.events(THREAD_ID, after=0))
    assert [seq_of(next(events)) for _ in range(12)] == list(range(1, 13))


def test_leaving_early_stops_the_run(served: Served) -> None:
    served.script.answer(RUNS, stream(*WHOLE))
    served.script.answer(CANCEL, httpx.Response(202, json={}))
    with ask(served) as followed:
        next(followed.texts())
    [cancelled] = served.script.sent(CANCEL)
    assert json.loads(cancelled.content) == {"runId": "run-1"}


def test_an_interruption_from_the_keyboard_stops_the_run(served: Served) -> None:
    served.script.answer(RUNS, stream(*WHOLE[:3], error=KeyboardInterrupt()))
    served.script.answer(CANCEL, httpx.ConnectError("down"))
    with pytest.raises(KeyboardInterrupt), ask(served) as followed:
        followed.result()
    assert len(served.script.sent(CANCEL)) == 1


def test_leaving_early_lets_the_run_go_on_if_keep_running_is_set(served: Served) -> None:
    served.script.answer(RUNS, stream(*WHOLE))
    with ask(served, keep_running=True) as followed:
        next(followed.texts())
    assert served.script.sent(CANCEL) == []


def test_what_is_left_can_be_read_later(served: Served) -> None:
    served.script.answer(RUNS, stream(*WHOLE))
    with ask(served) as followed:
        for event in followed:
            if seq_of(event) == 3:
                break
        assert seqs(followed) == [4, 5, 6, 7]


def test_reading_twice_repeats_nothing(served: Served) -> None:
    served.script.answer(RUNS, stream(*WHOLE))
    followed = ask(served)
    assert len(seqs(followed)) == 7
    assert seqs(followed) == []
    assert followed.result().text == "Nothing is lost."


def test_the_asynchronous_client_does_the_same() -> None:
    class Answers(httpx.AsyncBaseTransport):
        def __init__(self) -> None:
            self.script = Script()

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await request.aread()
            answer = self.script.handle_request(request)
            return httpx.Response(answer.status_code, headers=answer.headers, content=answer.read())

    async def main() -> str:
        transport = Answers()
        transport.script.answer(RUNS, stream(*WHOLE[:3]))
        transport.script.answer(EVENTS, stream(*WHOLE[3:]))
        async with httpx.AsyncClient(transport=transport) as http:
            baton = AsyncBaton("http://baton.test", http_client=http)
            async with baton.runs.stream("Hello", thread_id=THREAD_ID) as followed:
                return "".join([text async for text in followed.texts()])

    assert asyncio.run(main()) == "Nothing is lost."
