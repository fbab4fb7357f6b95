"""Items of messages: they come back, also in the forms of earlier versions, and take little room."""

from __future__ import annotations

import uuid
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.dynamodb.attributes import pack_id, unpack_id
from baton.adapters.dynamodb.bodies import pack, unpack
from baton.adapters.dynamodb.shapes import MESSAGE
from baton.adapters.dynamodb.threads.message_items import pack_message, unpack_message
from baton.domain.errors import StoreUnavailable
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.run_end import OutcomeType, RunEnd
from baton.domain.times import from_millis
from benchmarks.workload import ANSWER, split_into_pieces
from tests.unit.adapters.dynamodb.strategies import json_values

THREAD = "7d444840-9dc0-41d1-b245-5ffdce74fad2"
RUN = "0b51e7f6-5d0c-4f2c-9c0a-3f3d9a3c2a11"
MESSAGE_ID = "2f1c9f9e-4a54-5a53-8d2e-8a3c1e0b7a55"
USAGE = {
    "model": "gpt-4.1",
    "inputTokens": 8_412,
    "outputTokens": 397,
    "totalTokens": 8_809,
    "cachedInputTokens": 7_936,
}
IDS = ("messageId", "threadId", "runId")
KEY = {"PK": f"acme#{THREAD}", "SK": "MSG#000000000199"}


def spans(*ends: int) -> list[dict[str, Any]]:
    return [
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": MESSAGE_ID, "span": [first, last]}
        for first, last in pairwise(ends)
    ]


def answer(*tail: dict[str, Any], text: str = ANSWER) -> StoredMessage:
    end = RunEnd(
        OutcomeType.SUCCESS,
        Usage(8_412, 397, 7_936),
        "gpt-4.1",
        tail=tail,
        tail_seq=2_215,
        first_seq=2_213,
        first_token_ms=412,
        trace_id="1-581cf771-a006649127e371903a2de979",
    )
    return StoredMessage(
        id=MESSAGE_ID,
        role=Role.ASSISTANT,
        content=text,
        ordinal=199,
        run_id=RUN,
        timestamp=from_millis(1_790_000_000_123),
        tokens=401,
        agent_id="assistant",
        agent_name="Assistant",
        fence=100,
        end=end,
    )


def whole_tail() -> list[dict[str, Any]]:
    """The events of an answer that streams for three seconds."""
    step = len(ANSWER) // 12
    return [
        {"type": "RUN_STARTED", "threadId": THREAD, "runId": RUN, "protocolVersion": "1.0"},
        {"type": "STATE_SNAPSHOT", "snapshot": {"activeAgent": None, "workflow": None}},
        {"type": "TEXT_MESSAGE_START", "messageId": MESSAGE_ID, "role": "assistant", "name": "Assistant"},
        *spans(*range(0, 12 * step, step), len(ANSWER)),
        {"type": "TEXT_MESSAGE_END", "messageId": MESSAGE_ID, "metadata": {"sources": []}},
        {"type": "RUN_FINISHED", "threadId": THREAD, "runId": RUN, "outcome": {"type": "success"}, "usage": [USAGE]},
    ]


def item_of(message: StoredMessage) -> dict[str, Any]:
    return {
        **KEY,
        "id": pack_id(message.id),
        "run_id": pack_id(message.run_id),
        "tokens": message.tokens,
        "fence": message.fence,
        "body": pack_message(message, THREAD),
    }


def there_and_back(message: StoredMessage) -> StoredMessage:
    item = item_of(message)
    return unpack_message(item["body"], item, THREAD)


events = st.one_of(
    st.builds(lambda first, length: spans(first, first + length)[0], st.integers(0, 50), st.integers(0, 9)),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["TEXT_MESSAGE_CONTENT", "X"])},
        optional={
            **{name: st.one_of(st.sampled_from([MESSAGE_ID, RUN, THREAD]), st.text()) for name in IDS},
            "span": json_values,
            "usage": st.sampled_from([[USAGE], [{**USAGE, "cachedInputTokens": 1}], None]),
            "delta": json_values,
        },
    ),
)


@given(st.lists(events, max_size=8))
def test_the_last_events_of_a_run_come_back_whatever_they_are(tail: list[dict[str, Any]]) -> None:
    stored = there_and_back(answer(*tail)).end
    assert stored is not None
    assert list(stored.tail) == tail


@given(st.one_of(st.uuids().map(str), st.text(min_size=1), st.uuids().map(lambda entry: entry.hex.upper())))
def test_every_id_comes_back(text: str) -> None:
    assert unpack_id(pack_id(text)) == text


def test_a_uuid_takes_sixteen_bytes() -> None:
    assert pack_id(RUN) == uuid.UUID(RUN).bytes


@pytest.mark.parametrize("form", ["whole", "compact"])
def test_a_message_that_an_earlier_version_has_stored_is_read(form: str) -> None:
    message = answer(*whole_tail())
    item = item_of(message) | {"id": message.id, "run_id": message.run_id}
    body = MESSAGE.pack(message) if form == "whole" else item["body"]
    assert unpack_message(body, item, THREAD) == message


@pytest.mark.parametrize("form", ["text", "packed"])
def test_a_summary_that_an_earlier_version_has_stored_as_text_is_read(form: str) -> None:
    summary = "Ada grows ferns."
    item = item_of(answer()) | {"summary#assistant": summary if form == "text" else pack(summary)}
    assert unpack_message(item["body"], item, THREAD).summaries == {"assistant": summary}


@pytest.mark.parametrize("entry", [7, [], ["x", 1], [0, "x"]])
def test_a_damaged_tail_is_a_failure_of_the_store(entry: Any) -> None:
    message = answer(*whole_tail())
    body = unpack(MESSAGE.pack(message))
    body["end"]["tail"] = [entry]
    with pytest.raises(StoreUnavailable, match="damaged"):
        unpack_message(pack(body), item_of(message), THREAD)


def test_an_answer_of_a_few_paragraphs_takes_one_write_unit_with_its_events() -> None:
    assert len(split_into_pieces(ANSWER)) > 300
    item = item_of(answer(*whole_tail()))
    size = sum(len(name) + (len(value) if isinstance(value, str | bytes) else 3) for name, value in item.items())
    assert size <= 1024, size


def test_an_item_of_a_question_has_only_what_differs() -> None:
    question = replace(answer(), role=Role.USER, content="Hi", agent_id=None, agent_name=None, end=None)
    assert unpack(item_of(question)["body"]) == {"role": "user", "content": "Hi", "timestamp": 1_790_000_000_123}
