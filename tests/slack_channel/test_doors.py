"""The doors of the channel verify requests and store each once."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from baton_slack import ConfigurationError, Doors, SqliteStorage
from tests.slack_channel.conftest import WEBHOOK_SECRET, configuration
from tests.slack_channel.slack_requests import event, sign

Json = dict[str, Any]
MESSAGE = {"type": "message", "channel": "C0DESK", "user": "U0ANNA", "text": "Hello", "ts": "1790000000.000100"}


def make_baton_request(body: Json, *, secret: str = WEBHOOK_SECRET, age: float = 0) -> tuple[bytes, dict[str, str]]:
    """A request of Baton's."""
    at, text = datetime.now(UTC) - timedelta(seconds=age), json.dumps(body)
    signature = Webhook(secret).sign("evt_1", at, text)
    headers = {"webhook-id": "evt_1", "webhook-timestamp": str(int(at.timestamp())), "webhook-signature": signature}
    return text.encode(), headers


def test_an_event_is_kept_once_and_survives_the_process(doors: Doors, storage: SqliteStorage, tmp_path: Path) -> None:
    body = event(MESSAGE)
    retry = {"X-Slack-Retry-Num": "1", "X-Slack-Retry-Reason": "http_timeout"}
    assert [doors.take_slack(body, sign(body) | headers).status for headers in ({}, retry, retry)] == [200] * 3
    job = storage.claim([])
    assert job is not None
    assert job.body["text"] == "Hello"
    storage.close()
    after_the_kill = SqliteStorage(tmp_path / "slack.sqlite")
    again = after_the_kill.claim([])
    assert again is not None
    assert (again.id, again.is_repeated) == (job.id, True)
    after_the_kill.finish(again)
    assert after_the_kill.claim([]) is None
    after_the_kill.close()


@pytest.mark.parametrize(
    "headers",
    [
        {},
        sign(event(MESSAGE), secret="another"),
        sign(event(MESSAGE), at=time.time() - 301),
        sign(event(MESSAGE)) | {"X-Slack-Request-Timestamp": "soon"},
    ],
)
def test_a_request_without_slacks_signature_is_refused(
    doors: Doors, storage: SqliteStorage, headers: dict[str, str]
) -> None:
    assert doors.take_slack(event(MESSAGE), headers).status == 401
    assert doors.take_slack(b"\xff", headers).status == 401
    assert not storage.waits()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (event(MESSAGE, team="T0OTHER"), 403),
        (event(MESSAGE | {"bot_id": "B1"}), 200),
        (event(MESSAGE | {"subtype": "message_changed"}), 200),
        (b"payload=%7B%22type%22", 400),
        (b"payload=%7B%7D" + b"&a=1" * 10, 400),
        (b"[]", 400),
    ],
)
def test_what_is_not_a_persons_of_this_workspace_makes_no_job(
    doors: Doors, storage: SqliteStorage, body: bytes, status: int
) -> None:
    assert doors.take_slack(body, sign(body)).status == status
    assert not storage.waits()


@pytest.mark.parametrize("secret", [" ", "x", "whsec_?"])
def test_a_secret_that_no_request_can_have_is_refused_at_the_start(storage: SqliteStorage, secret: str) -> None:
    with pytest.raises(ConfigurationError, match="BATON_WEBHOOK_SECRET"):
        Doors(configuration(webhookSecret=secret), storage)


def test_slack_gets_its_challenge_back(doors: Doors) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "3eZbrw"}).encode()
    assert doors.take_slack(body, sign(body)).body == "3eZbrw"


def test_events_of_baton_are_verified_kept_once_and_of_the_tenant(doors: Doors, storage: SqliteStorage) -> None:
    body = {"id": "evt_1", "type": "desk.taken", "tenantId": "acme", "data": {"threadId": "t"}}
    for refused in (
        make_baton_request(body, secret="whsec_" + "B" * 32),
        make_baton_request(body, age=400),
        (b"{}", {}),
    ):
        assert doors.take_baton(*refused).status == 401
    assert doors.take_baton(*make_baton_request(body | {"tenantId": "other"})).status == 204
    assert not storage.waits()
    for _ in range(2):
        assert doors.take_baton(*make_baton_request(body)).status == 204
    job = storage.claim([])
    assert job is not None
    storage.finish(job)
    assert not storage.waits()


def test_jobs_of_a_group_wait_for_an_earlier_one_and_others_do_not(doors: Doors, storage: SqliteStorage) -> None:
    for ts, root in (("1790000001.000100", "R1"), ("1790000002.000100", "R1"), ("1790000003.000100", "R2")):
        body = event(MESSAGE | {"ts": ts, "thread_ts": root})
        doors.take_slack(body, sign(body))
    first = storage.claim([])
    assert first is not None
    storage.postpone(first, 60)
    second = storage.claim([first.group])
    assert second is not None
    assert second.body["thread_ts"] == "R2"
    assert storage.claim([second.group]) is None


def test_messages_that_come_out_of_order_are_carried_out_as_they_were_written(
    doors: Doors, storage: SqliteStorage
) -> None:
    for ts in ("1790000009.000100", "1790000008.000100"):
        body = event(MESSAGE | {"ts": ts, "thread_ts": "1790000001.000100"})
        doors.take_slack(body, sign(body))
    claimed = []
    while job := storage.claim([]):
        claimed.append(job.body["ts"])
        storage.finish(job)
    assert claimed == ["1790000008.000100", "1790000009.000100"]
