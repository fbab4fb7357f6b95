"""Events and their frames."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from baton.domain.errors import ModelTimeout, TokenExpired
from baton.domain.runs.usage import Usage
from baton.domain.text import replace_surrogates
from baton.domain.threads.events import (
    MAX_DELTA_CHARS,
    MAX_FRAME_BYTES,
    Event,
    RunStamp,
    make_custom,
    make_reasoning_content,
    make_reasoning_end,
    make_reasoning_start,
    make_run_error,
    make_run_finished,
    make_run_started,
    make_state_snapshot,
    make_text_content,
    make_text_end,
    make_text_start,
    make_unsequenced,
    strip_stamp,
    to_body,
)
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.run_end import OutcomeType
from baton_testing.fakes.agents.shipped_agents import agent
from baton_testing.fakes.clock import NOON

STAMP = RunStamp("t1", "r1", 2)
QUESTION = StoredMessage("m1", Role.USER, "Hello", 0, "r1", NOON, 5)
long_texts = st.tuples(st.text(min_size=1, max_size=40), st.integers(1, 6_000)).map(lambda pair: pair[0] * pair[1])


@given(long_texts, st.none() | st.integers(1, 10**12))
@example("\x00" * 30_000, 10**12)
@example("😀" * 30_000, None)
@example('"\\' * 30_000, 1)
@example("x" * (MAX_FRAME_BYTES - 25), None)
def test_every_frame_fits_and_the_parts_make_up_the_event(text: str, seq: int | None) -> None:
    event = Event({"type": "X", "text": text}, seq)
    frames = event.split_into_frames()

    assert all(len(frame.encode()) <= MAX_FRAME_BYTES for frame in frames)
    if len(event.json().encode()) <= MAX_FRAME_BYTES:
        assert frames == [event.json()]
        return
    parts = [json.loads(frame) for frame in frames]
    assert {part["type"] for part in parts} == {"PART"}
    assert [part["metadata"]["part"] for part in parts] == list(range(1, len(parts) + 1))
    assert {part["metadata"]["of"] for part in parts} == {len(parts)}
    assert {part["metadata"].get("seq") for part in parts} == {seq}
    assert len({part["metadata"]["digest"] for part in parts}) == 1
    assert json.loads("".join(part["data"] for part in parts)) == event.body


def test_parts_of_two_forms_of_an_event_have_different_digests() -> None:
    fields = {"type": "X", "text": "x" * 2 * MAX_FRAME_BYTES}
    forms = [Event(fields, 1), Event(dict(reversed(fields.items())), 1)]
    digests = [json.loads(form.split_into_frames()[0])["metadata"]["digest"] for form in forms]

    assert forms[0].body == forms[1].body
    assert digests[0] != digests[1]


@given(st.text(min_size=1, max_size=20))
@example("\x00")
@example("😀")
def test_the_longest_delta_is_one_frame(text: str) -> None:
    longest = (text * MAX_DELTA_CHARS)[:MAX_DELTA_CHARS]
    assert len(STAMP.number(to_body(make_text_content("m" * 36, longest)), 10**12).split_into_frames()) == 1


@given(st.text(min_size=1))
def test_a_frame_is_one_line_of_json(text: str) -> None:
    [frame] = Event({"type": "X", "text": text}).split_into_frames()
    assert json.loads(frame)["text"] == text
    assert "\n" not in frame


@pytest.mark.parametrize(
    "event",
    [
        make_run_started("t1", "r1", QUESTION, previous_seq=4),
        make_state_snapshot({"status": "active"}),
        make_text_start("m2", agent()),
        make_text_content("m2", "Hi."),
        make_text_end("m2", [{"kind": "document", "id": "d1"}]),
        *make_reasoning_start("m3", agent()),
        *make_reasoning_content("m3", "Greet the user."),
        *make_reasoning_end("m3"),
        make_run_finished("t1", "r1", usage=Usage(3, 4), model="model-1"),
        make_run_finished("t1", "r1", usage=None, model=None, outcome_type=OutcomeType.CANCELLED),
        make_run_error(ModelTimeout(), Usage(3, 4), "model-1"),
        make_custom("heartbeat", {}),
    ],
)
def test_a_numbered_event_carries_the_stamp_and_loses_nothing_else(event: Any) -> None:
    numbered = STAMP.number(to_body(event), 17)
    stamp = {"threadId": "t1", "runId": "r1", "seq": 17, "attempt": 2}
    assert numbered.body["metadata"].items() >= stamp.items()
    assert (numbered.seq, numbered.run_id, numbered.type) == (17, "r1", to_body(event)["type"])
    assert STAMP.number(strip_stamp(numbered), 17) == numbered
    assert not {"seq", "attempt"} & strip_stamp(numbered).get("metadata", {}).keys()


def test_thinking_is_a_block_of_its_own_that_names_its_agent() -> None:
    events = [*make_reasoning_start("m3", agent()), *make_reasoning_content("m3", "Greet."), *make_reasoning_end("m3")]
    bodies = [to_body(event) for event in events]
    assert [body["type"] for body in bodies] == [
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
    ]
    assert {body["messageId"] for body in bodies} == {"m3"}
    assert bodies[1]["role"] == "reasoning"
    assert bodies[1]["metadata"] == {"agentId": agent().id, "agentName": agent().name}


@given(st.text(max_size=20), st.integers(0, 2_000))
@example("\ud83d\ude00", 9_000)
@example("x\ud83d", 4_096)
def test_thinking_of_any_length_is_cut_into_deltas_that_fit_a_frame(text: str, times: int) -> None:
    deltas = [to_body(event)["delta"] for event in make_reasoning_content("m" * 36, text * times)]
    assert "".join(deltas) == replace_surrogates(text * times)
    frames = [
        STAMP.number(to_body(event), 10**12).split_into_frames()
        for event in make_reasoning_content("m" * 36, text * times)
    ]
    assert all(len(frame) == 1 for frame in frames)


def test_a_run_begins_with_the_users_message_for_other_screens() -> None:
    body = to_body(make_run_started("t1", "r1", QUESTION))
    assert body["metadata"] == {"messageId": "m1"}
    [message] = body["input"]["messages"]
    assert (message["id"], message["role"], message["content"]) == ("m1", "user", "Hello")
    assert to_body(make_run_started("t1", "r1", QUESTION, previous_seq=0))["metadata"]["previousSeq"] == 0


def test_a_run_ends_as_it_ended() -> None:
    finished = to_body(make_run_finished("t1", "r1", usage=Usage(3, 4), model="model-1"))
    assert finished["outcome"] == {"type": "success"}
    assert finished["usage"] == [{"model": "model-1", "inputTokens": 3, "outputTokens": 4, "totalTokens": 7}]
    cancelled = make_run_finished("t1", "r1", usage=None, model=None, outcome_type=OutcomeType.CANCELLED)
    assert to_body(cancelled)["outcome"] == {"type": "cancelled"}


def test_a_failed_run_says_why_and_whether_to_try_again() -> None:
    body = to_body(make_run_error(ModelTimeout()))
    assert (body["type"], body["code"], body["metadata"]["retryable"]) == ("RUN_ERROR", "model_timeout", True)
    refusal = make_unsequenced(make_run_error(TokenExpired(), requestId="q1"), action="ping")
    assert refusal.body["metadata"] == {"retryable": False, "requestId": "q1", "action": "ping"}
    assert refusal.seq is None
