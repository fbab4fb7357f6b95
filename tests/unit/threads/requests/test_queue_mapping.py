"""Records of the queue: their form, because a new release also reads records that an older one has sent."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from baton.domain.runs.interrupt import DecisionStatus, InterruptDecision
from baton.domain.tenants.identity import Scope
from baton.domain.threads.history_window import SummaryDue
from baton.domain.threads.queued import Queued, Subscriber, parse_queued
from baton.domain.threads.thread import LeaseMark
from baton.threads.requests.parsing import make_continue_request, parse_message_request
from baton.threads.requests.queue_mapping import (
    make_queued_action,
    make_queued_close,
    make_queued_decision,
    make_queued_message,
    make_queued_summary,
    make_queued_takeover,
    make_queued_title,
)

THREAD = "0190b0c0-0000-7000-8000-000000000001"
ADA = Scope("acme", "ada", frozenset({"b", "a"}), "sealed")
AT = datetime(2026, 1, 2, 3, 4, 5, 600_000, UTC)
TAB = Subscriber("tab", AT)
MESSAGE = parse_message_request(ADA, thread_id=THREAD, message_id="m1", content="Hello")
CONTINUE = make_continue_request(THREAD, "w1", key="k")
ANSWER = InterruptDecision("i1", DecisionStatus.RESOLVED, {"approved": True}, "bob")
NO_ONE = {"connectionId": None, "connectionExpiresAt": 0}
WATCHED = {"connectionId": "tab", "connectionExpiresAt": int(AT.timestamp())}
ALL_RIGHTS = {"permissions": ["a", "b"], "subjectToken": "sealed"}
NO_RIGHTS = {"permissions": [], "subjectToken": None}


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        (make_queued_message(ADA, MESSAGE, request_id="r", subscriber=TAB), ALL_RIGHTS | WATCHED | {"messageId": "m1"}),
        (make_queued_message(ADA, MESSAGE, request_id="r"), ALL_RIGHTS | NO_ONE | {"content": "Hello"}),
        (
            make_queued_decision(ADA, THREAD, ANSWER, request_id="r", subscriber=TAB),
            {"permissions": [], "subjectToken": "sealed", "answeredBy": "bob"} | WATCHED,
        ),
        (
            make_queued_action(ADA, CONTINUE, request_id="r", subscriber=TAB),
            ALL_RIGHTS | WATCHED | {"action": "continue", "workflowId": "w1"},
        ),
        (
            make_queued_close(ADA, THREAD, 3, request_id="r", subscriber=TAB),
            {"permissions": ["a", "b"], "subjectToken": None, "episode": 3} | WATCHED,
        ),
        (
            make_queued_takeover(ADA, THREAD, LeaseMark(2, AT), request_id="r"),
            NO_RIGHTS | NO_ONE | {"action": "takeover"},
        ),
        (make_queued_summary(ADA, THREAD, SummaryDue(THREAD, "main", 4)), NO_RIGHTS | NO_ONE | {"action": "summarise"}),
        (make_queued_title(ADA, THREAD, "run"), NO_RIGHTS | NO_ONE | {"action": "title"}),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, dict) else "",
)
def test_a_record_has_its_fields_and_can_be_read_again(record: Queued, fields: dict[str, Any]) -> None:
    body = record.model_dump_json(by_alias=True)
    turn = json.loads(body)
    assert fields | {"tenantId": "acme", "userId": "ada", "threadId": THREAD} == {
        name: turn[name] for name in (*fields, "tenantId", "userId", "threadId")
    }
    assert parse_queued(body) == record


@pytest.mark.parametrize(
    "content",
    [
        "Hello",
        [{"type": "text", "text": "Hello", "mood": {"of": ["the", 1]}}],
        [
            {
                "type": "image",
                "source": {"type": "url", "value": "https://example.com/a.png"},
                "metadata": {"name": "a"},
            },
            {"type": "document", "source": {"type": "data", "value": "aGk=", "mimeType": "text/plain"}},
        ],
    ],
)
def test_messages_come_out_of_the_queue_as_they_went_in(content: Any) -> None:
    request = parse_message_request(ADA, thread_id=THREAD, message_id="m1", content=content)
    record = make_queued_message(ADA, request, request_id="r")
    body = record.model_dump_json(by_alias=True)
    assert json.loads(body)["content"] == content
    again = type(record).model_validate_json(body).request
    assert again == request
    assert again.digest == request.digest


def test_actions_come_out_of_the_queue_as_they_went_in() -> None:
    assert make_queued_action(ADA, CONTINUE, request_id="r").request == CONTINUE


def test_the_connection_of_a_record_expires_with_its_token() -> None:
    assert make_queued_title(ADA, THREAD, "run").subscriber is None
    record = make_queued_message(ADA, MESSAGE, request_id="r", subscriber=TAB)
    assert record.subscriber == Subscriber("tab", AT.replace(microsecond=0))
