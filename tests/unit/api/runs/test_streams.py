"""The silence of streams, and their duration."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest

from baton.api.runs.sse import Timing
from baton.domain.errors import UnknownAgent
from baton.domain.tenants.identity import Scope
from tests.fakes.chat_model import Answer
from tests.unit.api.run_inputs import run_input
from tests.unit.api.served import Served

SHORT = 0.05
LONG = 30.0
SILENCE = 0.3


def slow_answer(served: Served) -> asyncio.Event:
    """The model says one word and waits for the gate."""
    gate = asyncio.Event()
    served.harness.model.script(Answer(("One ", "two"), gate=gate, gate_at=1))
    return gate


async def wait_in_silence(served: Served, gate: asyncio.Event) -> None:
    """Wait while the model is silent, then open the gate."""
    await served.harness.wait_for_requests()
    await asyncio.sleep(SILENCE)
    gate.set()


def comments(answer: httpx.Response) -> int:
    return answer.text.splitlines().count(": waiting")


async def test_a_stream_is_numbered_events_that_no_proxy_keeps_back() -> None:
    served = Served()
    answer = await served.post("/runs", run_input(served))
    reported = answer.text.removesuffix("\n\n").split("\n\n")
    fields = [[line.partition(": ") for line in event.split("\n")] for event in reported]
    assert [[name for name, _, _ in event if name != "retry"] for event in fields] == [["id", "data"]] * len(reported)
    for [*_, (_, _, number), (_, _, data)] in fields:
        assert json.loads(data)["metadata"]["seq"] == int(number)
    assert answer.headers["Content-Type"].partition(";")[0] == "text/event-stream"
    assert (answer.headers["Cache-Control"], answer.headers["X-Accel-Buffering"]) == ("no-store, no-transform", "no")
    assert "Connection" not in answer.headers


def pauses(answer: httpx.Response) -> list[tuple[int, str]]:
    """The pauses before reconnecting that a stream sets, in milliseconds, each with the type of its event."""
    blocks = [block.split("\n") for block in answer.text.removesuffix("\n\n").split("\n\n")]
    return [
        (
            int(line.removeprefix("retry: ")),
            "" if lines[0].startswith(":") else json.loads(lines[-1].removeprefix("data: "))["type"],
        )
        for lines in blocks
        for line in lines
        if line.startswith("retry: ")
    ]


async def test_clients_come_back_sooner_while_a_run_is_in_progress_than_after_it() -> None:
    served = Served()
    path = f"/threads/{served.harness.thread_id}/events"
    await served.harness.say("m0")
    gate = slow_answer(served)
    running = asyncio.ensure_future(served.post("/runs", run_input(served)))
    await served.harness.wait_for_requests(2)
    following = asyncio.ensure_future(served.get(path))
    await asyncio.sleep(SILENCE)
    gate.set()
    run, followed = await asyncio.gather(running, following)
    begun_and_ended = [(500, "RUN_STARTED"), (3_000, "RUN_FINISHED")]
    assert pauses(run) == begun_and_ended
    assert pauses(followed) == [(500, ""), *begun_and_ended, *begun_and_ended]
    assert pauses(await served.get(path))[-1] == (3_000, "RUN_FINISHED")


async def test_a_run_that_waits_for_its_first_event_sets_the_short_pause() -> None:
    served = Served(timing=Timing(first_event_seconds=SHORT))
    gate = asyncio.Event()
    served.harness.model.script(Answer(("One ", "two"), gate=gate, gate_at=1))
    first = asyncio.ensure_future(served.harness.say("m0"))
    await served.harness.wait_for_requests()
    waiting = asyncio.ensure_future(served.post("/runs", run_input(served)))
    await asyncio.sleep(SILENCE)
    gate.set()
    _, answer = await asyncio.gather(first, waiting)
    assert pauses(answer)[0] == (500, "")


async def test_a_silent_run_shows_that_it_lives() -> None:
    served = Served(timing=Timing(comment_seconds=SHORT))
    gate = slow_answer(served)
    answer, _ = await asyncio.gather(served.post("/runs", run_input(served)), wait_in_silence(served, gate))
    assert comments(answer) > 0
    assert '"type":"RUN_FINISHED"' in answer.text


async def test_a_run_with_events_sends_no_comment() -> None:
    served = Served(timing=Timing(comment_seconds=LONG))
    answer = await served.post("/runs", run_input(served))
    assert comments(answer) == 0
    assert '"type":"RUN_FINISHED"' in answer.text


async def test_followed_events_show_that_the_run_lives_and_end_with_it() -> None:
    served = Served(timing=Timing(comment_seconds=SHORT, follow_seconds=LONG))
    gate = slow_answer(served)
    running = asyncio.ensure_future(served.harness.say())
    await served.harness.wait_for_requests()
    path = f"/threads/{served.harness.thread_id}/events"
    answer, _ = await asyncio.gather(served.get(path), wait_in_silence(served, gate))
    await running
    assert comments(answer) > 0
    assert '"type":"RUN_FINISHED"' in answer.text


async def test_events_are_followed_for_so_long_only() -> None:
    served = Served(timing=Timing(comment_seconds=LONG, follow_seconds=SHORT))
    gate = slow_answer(served)
    running = asyncio.ensure_future(served.harness.say())
    await served.harness.wait_for_requests()
    answer = await served.get(f"/threads/{served.harness.thread_id}/events")
    assert not running.done()
    assert comments(answer) == 0
    assert '"type":"RUN_FINISHED"' not in answer.text
    gate.set()
    await running


async def test_a_refusal_that_comes_in_time_is_an_http_status() -> None:
    served = Served()
    answer = await served.post("/runs", run_input(served, forwardedProps={"agentId": "nobody"}))
    assert (answer.status_code, answer.json()["code"]) == (404, UnknownAgent.code)


async def test_a_refusal_that_comes_late_is_an_event_without_a_number() -> None:
    served = Served(timing=Timing(comment_seconds=LONG, first_event_seconds=SHORT))
    harness = served.harness
    with_permission = Scope("acme", "ada", frozenset({"archive:read"}))
    gate = slow_answer(served)
    running = asyncio.ensure_future(harness.say("m0", agent_id="librarian", scope=with_permission))
    answer, _ = await asyncio.gather(served.post("/runs", run_input(served)), wait_in_silence(served, gate))
    await running
    assert (answer.status_code, f'"code":"{UnknownAgent.code}"' in answer.text) == (200, True)
    assert "id:" not in answer.text


def test_by_default_a_stream_is_silent_for_ten_seconds_and_followed_for_a_minute() -> None:
    assert Timing() == Timing(comment_seconds=10, first_event_seconds=5, follow_seconds=60)


@pytest.mark.parametrize("path", ["runs", "events"])
async def test_a_stream_ends_with_its_token_and_the_run_goes_on(path: str) -> None:
    served = Served(timing=Timing(comment_seconds=LONG, follow_seconds=LONG), token_seconds=SILENCE)
    gate = slow_answer(served)
    if path == "runs":
        answer = await served.post("/runs", run_input(served))
    else:
        running = asyncio.ensure_future(served.harness.say())
        await served.harness.wait_for_requests()
        answer = await served.get(f"/threads/{served.harness.thread_id}/events")
    last = json.loads(answer.text.strip().rpartition("data: ")[2])
    assert (last["type"], last["code"], last["metadata"]["retryable"]) == ("RUN_ERROR", "token_expired", False)
    assert "seq" not in last["metadata"]
    assert '"type":"RUN_FINISHED"' not in answer.text
    gate.set()
    if path == "events":
        await running
    served.token_seconds = LONG
    finished = await served.get(f"/threads/{served.harness.thread_id}/events")
    assert '"type":"RUN_FINISHED"' in finished.text


async def test_a_stream_that_ends_before_its_token_shows_nothing_of_it() -> None:
    served = Served(token_seconds=LONG)
    assert "token_expired" not in (await served.post("/runs", run_input(served))).text
    assert "token_expired" not in (await served.get(f"/threads/{served.harness.thread_id}/events")).text
