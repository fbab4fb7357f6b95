"""The worker of the channel: order, places for everybody, and what becomes of jobs that fail."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from baton_slack import Doors, Job, SqliteStorage, Worker
from baton_slack.channel import USER_WORKERS, WORKERS
from baton_slack.failures import describe
from baton_slack.storage import DAY_SECONDS
from tests.slack_channel.slack_requests import event, sign

Json = dict[str, Any]
MESSAGE = {"type": "message", "channel": "C0DESK", "user": "U0ANNA", "text": "Hello", "ts": "1790000000.000100"}


def test_messages_that_wait_are_readable_by_their_owner_only(doors: Doors, tmp_path: Path) -> None:
    doors.take_slack(event(MESSAGE), sign(event(MESSAGE)))
    assert {file.stat().st_mode & 0o077 for file in tmp_path.iterdir()} == {0}


class Carrier:
    """A channel whose jobs fail or wait as a test says."""

    def __init__(self, carry_out: Callable[[Job], Awaitable[None]]) -> None:
        self.done = list[str]()
        self.given_up = list[str]()
        self._carry_out = carry_out

    async def carry_out(self, job: Job) -> None:
        await self._carry_out(job)
        self.done.append(job.id)

    async def report_given_up(self, job: Job) -> None:
        self.given_up.append(job.id)


@asynccontextmanager
async def working(channel: Any, storage: SqliteStorage) -> AsyncIterator[None]:
    """Have a worker carry out the jobs."""
    task = asyncio.create_task(Worker(channel, storage).run())
    try:
        async with asyncio.timeout(30):
            yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("slow", ["users", "people"])
async def test_slow_messages_of_users_and_work_for_people_leave_each_other_places(
    doors: Doors, storage: SqliteStorage, slow: str
) -> None:
    count = {"users": 2 * USER_WORKERS, "people": 2 * WORKERS}
    for who, channel_type in (("users", "im"), ("people", "group")):
        for number in range(count[who]):
            written = {"ts": f"17900{number:05}.000100", "channel": f"C0{who.upper()}", "channel_type": channel_type}
            body = event(MESSAGE | written, event_id=f"{who}-{number}")
            doors.take_slack(body, sign(body))

    async def carry_out(job: Job) -> None:
        if job.id.startswith(slow):
            await asyncio.Event().wait()

    channel = Carrier(carry_out)
    quick = count["people" if slow == "users" else "users"]
    async with working(channel, storage):
        while len(channel.done) < quick:  # noqa: ASYNC110 - the worker has no event
            await asyncio.sleep(0.01)


def make_slack_error(error: str | None, status: int = 200, **headers: str) -> SlackApiError:
    """A refusal of Slack's API; without an error, the answer of a gateway."""
    about: dict[str, Any] = {"client": None, "http_verb": "POST", "api_url": "", "req_args": {}, "headers": headers}
    data: Any = {"error": error} if error else "upstream connect error"
    answer = AsyncSlackResponse(**about, data=data, status_code=status)
    return SlackApiError(error or "", answer)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("failure", "times", "is_done"),
    [
        (make_slack_error("ratelimited", 429, **{"Retry-After": "7"}), 40, True),
        (make_slack_error("token_revoked"), 10, True),
        (make_slack_error("service_unavailable"), 10, True),
        (make_slack_error(None, 502), 10, True),
        (make_slack_error("channel_not_found"), 10, False),
        (make_slack_error("invalid_blocks"), 10, False),
        (ZeroDivisionError(), 10, False),
    ],
)
async def test_a_job_outlasts_outages_and_its_writer_hears_if_it_is_given_up(
    doors: Doors,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    failure: Exception,
    times: int,
    is_done: bool,
) -> None:
    monkeypatch.setattr("baton_slack.channel.POLL_SECONDS", 0)
    moments = itertools.count(0, DAY_SECONDS)
    storage = SqliteStorage(tmp_path / "days.sqlite", lambda: float(next(moments)))
    storage.add_job(Job("Ev1", "slack:C0DESK:1", "slack.message", {}))
    failures = iter([failure] * times)

    async def carry_out(job: Job) -> None:
        for refusal in failures:
            raise refusal

    channel = Carrier(carry_out)
    async with working(channel, storage):
        while storage.waits():  # noqa: ASYNC110 - the worker has no event
            await asyncio.sleep(0)
    assert (channel.done, channel.given_up) == ((["Ev1"], []) if is_done else ([], ["Ev1"]))
    assert ("set SLACK_BOT_TOKEN" in caplog.text) is ("token" in describe(failure))
    storage.close()


async def test_a_file_of_jobs_that_cannot_be_used_for_a_while_ends_no_worker(
    doors: Doors, storage: SqliteStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures, claim = iter([sqlite3.OperationalError("disk I/O error")] * 2), storage.claim

    def fail(*arguments: Any) -> Job | None:
        for failure in failures:
            raise failure
        return claim(*arguments)

    monkeypatch.setattr("baton_slack.channel.POLL_SECONDS", 0)
    monkeypatch.setattr(storage, "claim", fail)
    doors.take_slack(event(MESSAGE), sign(event(MESSAGE)))

    async def carry_out(job: Job) -> None:
        pass

    channel = Carrier(carry_out)
    async with working(channel, storage):
        while not channel.done:  # noqa: ASYNC110 - the worker has no event
            await asyncio.sleep(0)
