"""The channel: the parts, and the worker that carries out jobs."""

from __future__ import annotations

import asyncio
import logging
import math
import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress

from slack_sdk.web.async_client import AsyncWebClient

from baton_client import AsyncBaton
from baton_slack.accounts import Accounts
from baton_slack.approvals import Approvals
from baton_slack.blocks import APPROVE, DECLINE, RETURN, TAKE
from baton_slack.configuration import Configuration, ConfigurationError
from baton_slack.conversations import UserThreads
from baton_slack.desks import DeskThreads
from baton_slack.doors import Doors
from baton_slack.failures import describe, is_rate_limit, pause_after
from baton_slack.identities import EmbedKey, TokenMaker
from baton_slack.storage import DAY_SECONDS, OF_USERS, Job, Jobs, Records, SqliteStorage
from baton_slack.workspace import FILE_HOSTS, Workspace

WORKERS = 8
"""The number of jobs, other than messages of users, that are carried out concurrently."""
USER_WORKERS = 32
"""The number of users' messages that are sent concurrently. Each may wait for an answer in progress."""
POLL_SECONDS = 0.2
"""The pause of a worker that finds no job."""
GIVEN_UP = "This could not be done, or not all of it. Look whether it has arrived, and try again."

logger = logging.getLogger(__name__)


class Channel:
    """Slack as a channel of one tenant of Baton."""

    def __init__(
        self,
        configuration: Configuration,
        jobs: Jobs,
        records: Records,
        *,
        make_token: TokenMaker | None = None,
        slack_url: str = AsyncWebClient.BASE_URL,
        file_hosts: Sequence[str] = FILE_HOSTS,
    ) -> None:
        """Make the channel. ``make_token`` replaces the embed key of the configuration.

        ``slack_url`` and ``file_hosts`` name a stand-in of Slack. Raises ``ConfigurationError`` if nothing can make
        tokens.
        """
        maker = make_token or _make_embed_key(configuration)
        self.baton = AsyncBaton(configuration.url, token="", time_zone="")
        client = AsyncWebClient(token=configuration.bot_token.get_secret_value(), base_url=slack_url)
        self.workspace = Workspace(client, records, configuration.team, file_hosts=file_hosts)
        accounts = Accounts(self.baton, maker, configuration)
        self.doors = Doors(configuration, jobs)
        self._desks = DeskThreads(self.workspace, accounts, records, configuration)
        self._users = UserThreads(self.workspace, accounts, records, configuration)
        self._approvals = Approvals(self.workspace, accounts, records, configuration, self._users)

    async def carry_out(self, job: Job) -> None:
        """Carry out one job. Raises errors that ``pause_after`` classifies.

        A repetition does nothing twice, but may show its member a line again.
        """
        match job.kind:
            case "desk.waiting":
                await self._desks.show_waiting(job)
            case "desk.taken":
                await self._desks.show_taken(job.body["data"])
            case "desk.returned":
                await self._desks.show_returned(job)
            case "message.created":
                await self._desks.show_message(job)
                await self._users.show_message(job)
            case "approval.requested":
                await self._approvals.request(job)
            case "run.failed":
                await self._users.show_failure(job)
            case "slack.message" | "slack.app_mention":
                await self._take_message(job)
            case "slack.action":
                await self._take_press(job)

    async def report_given_up(self, job: Job) -> None:
        """Notify the person whose message or press was given up. A failure of this is ignored."""
        if job.kind.startswith("slack."):
            at, thread = job.body, job.body.get("thread_ts") or job.body["ts"]
            with suppress(Exception):
                await self.workspace.whisper(at["channel"], at["user"], GIVEN_UP, thread)

    async def aclose(self) -> None:
        """Close the connections to Baton."""
        await self.baton.aclose()

    async def _take_message(self, job: Job) -> None:
        event = job.body
        if event["user"] == await self.workspace.get_bot_id():
            return
        is_mention, root = job.kind == "slack.app_mention", event.get("thread_ts")
        if root and (thread_id := self._desks.find_thread(event["channel"], root)) is not None:
            if not is_mention:  # a mention is sent as a message, too
                await self._desks.write(job, thread_id)
        elif is_mention or event.get("channel_type") == "im":
            await self._users.send(job)

    async def _take_press(self, job: Job) -> None:
        press = job.body
        match press["action"]:
            case action if action == TAKE:
                await self._desks.take(press)
            case action if action == RETURN:
                await self._desks.hand_back(press)
            case action if action in (APPROVE, DECLINE):
                await self._approvals.decide(press, approves=action == APPROVE)


class Worker:
    """A worker for the jobs of a ``SqliteStorage``: several groups concurrently, the jobs of one group in order."""

    def __init__(self, channel: Channel, storage: SqliteStorage) -> None:
        self._channel = channel
        self._storage = storage
        self._running: dict[str, asyncio.Task[None]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to do."""
        return not self._running and not self._storage.waits()

    async def run(self) -> None:
        """Carry out jobs until cancelled. The next worker repeats jobs that were in progress then."""
        cleaned_at = -math.inf
        try:
            while True:
                job = None
                try:
                    if time.monotonic() > cleaned_at + DAY_SECONDS:
                        self._storage.clean()
                        cleaned_at = time.monotonic()
                    job = self._storage.claim(self._running, self._has_place)
                except sqlite3.Error as failure:  # a full disk, for example; the doors answer 500 meanwhile
                    logger.error("the file of jobs cannot be used: %s", failure)
                if job is None:
                    await asyncio.sleep(POLL_SECONDS)
                else:
                    self._running[job.group] = asyncio.create_task(self._attempt(job))
        finally:
            tasks = list(self._running.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _has_place(self, group: str) -> bool:
        is_of_user = group.startswith(OF_USERS)
        busy_count = sum(running.startswith(OF_USERS) == is_of_user for running in self._running)
        return busy_count < (USER_WORKERS if is_of_user else WORKERS)

    async def _attempt(self, job: Job) -> None:
        try:
            await self._channel.carry_out(job)
            self._storage.finish(job)
        except Exception as failure:  # noqa: BLE001 - one job must not end the others
            pause = pause_after(job, failure)
            reason = describe(failure)
            if pause is None:
                logger.error("job %s (%s) failed and was given up: %s", job.id, job.kind, reason)
                await self._channel.report_given_up(job)
                self._storage.finish(job)
            else:
                logger.warning("job %s (%s) failed: %s; again in %s s", job.id, job.kind, reason, pause)
                self._storage.postpone(job, pause, is_counted=not is_rate_limit(failure))
        finally:
            self._running.pop(job.group, None)


def _make_embed_key(configuration: Configuration) -> EmbedKey:
    if configuration.key_id is None or configuration.embed_key is None:
        raise ConfigurationError("Set keyId and BATON_EMBED_KEY, or give the channel a maker of tokens.")
    key = configuration.embed_key.get_secret_value()
    return EmbedKey(configuration.tenant, configuration.key_id, key, configuration.algorithm)
