"""The channel's file: jobs that were acknowledged and not yet carried out, and records that link conversations."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

Json = dict[str, Any]

DAY_SECONDS = 86_400
JOB_DAYS = 3
"""Days for which the ids of finished jobs are kept. Baton and Slack repeat a request for a day at most."""
OF_USERS = "user:"
"""The beginning of the groups of users' messages, which may wait for an answer in progress."""
RECORD_DAYS = 180
"""Days after which an unchanged record is removed. Its conversation no longer continues in Slack."""


@dataclass(frozen=True, slots=True)
class Job:
    """Work that was acknowledged and must be carried out once."""

    id: str
    """The id of the event. A second job with this id is dropped."""
    group: str
    """Jobs of a group are carried out one after the other, in the order of their arrival.

    Jobs that wait at the same time are carried out in the order of the field ``written`` of their bodies, if they have
    it.
    """
    kind: str
    body: Json
    attempts: int = 0
    """Attempts that have failed, or may have been interrupted."""

    @property
    def is_repeated(self) -> bool:
        """Whether an earlier attempt may have carried out a part of the job."""
        return self.attempts > 0


class Jobs(Protocol):
    """A queue of jobs. With SQS it is a FIFO queue that uses the job's group and id for groups and deduplication."""

    def add_job(self, job: Job) -> None:
        """Store the job before its request is acknowledged. A known id changes nothing."""


class Records(Protocol):
    """Small records by key: ids of conversations, channels and messages, never what was written."""

    def get(self, key: str) -> Json | None:
        """Return a record; None if there is none."""

    def put(self, key: str, record: Json) -> None:
        """Write a record, or replace it."""

    def add(self, key: str, record: Json) -> Json:
        """Write a record unless the key has one. Return the record that the key has now."""


class SqliteStorage:
    """``Jobs`` and ``Records`` in a file of SQLite, for one process."""

    def __init__(self, path: Path | str, clock: Callable[[], float] = time.time) -> None:
        """Open ``path``, or make it, readable by its owner only. ``:memory:`` keeps nothing."""
        self._clock = clock
        if path != ":memory:":
            Path(path).touch(mode=0o600)  # it has messages that wait; SQLite's other files get the same mode
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.executescript(
            """
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = FULL;
            CREATE TABLE IF NOT EXISTS jobs (number INTEGER PRIMARY KEY, id TEXT UNIQUE, grp TEXT, kind TEXT, body TEXT,
                attempts INTEGER DEFAULT 0, due REAL, done_at REAL);
            CREATE INDEX IF NOT EXISTS waiting ON jobs (number) WHERE done_at IS NULL;
            CREATE TABLE IF NOT EXISTS records (key TEXT PRIMARY KEY, record TEXT, changed_at REAL);
            """
        )

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def add_job(self, job: Job) -> None:
        """Store a job; see ``Jobs``."""
        self._database.execute(
            "INSERT OR IGNORE INTO jobs (id, grp, kind, body, due) VALUES (?, ?, ?, ?, ?)",
            (job.id, job.group, job.kind, json.dumps(job.body), self._clock()),
        )

    def claim(self, busy: Collection[str], has_place: Callable[[str], bool] = lambda group: True) -> Job | None:
        """Return the first due job, and count an attempt; None if there is none.

        Only groups that are not ``busy``, and for which ``has_place`` returns True, are considered.
        """
        # SQLite takes the other columns from the row that has the minimum.
        rows = self._database.execute(
            "SELECT MIN(printf('%s %015d', COALESCE(json_extract(body, '$.written'), ''), number)), number, id, grp,"
            " kind, body, attempts, due FROM jobs WHERE done_at IS NULL GROUP BY grp ORDER BY number"
        )
        now = self._clock()
        for _, number, job_id, group, kind, body, attempts, due in rows:
            if group not in busy and due <= now and has_place(group):
                self._database.execute("UPDATE jobs SET attempts = attempts + 1 WHERE number = ?", (number,))
                return Job(job_id, group, kind, json.loads(body), attempts)
        return None

    def postpone(self, job: Job, seconds: float, *, is_counted: bool = True) -> None:
        """Have the job tried again after ``seconds``. Later jobs of its group wait for it.

        An attempt that is not counted leaves the number of further attempts unchanged.
        """
        attempts = job.attempts + 1 if is_counted else max(1, job.attempts)
        due = self._clock() + seconds
        self._database.execute("UPDATE jobs SET due = ?, attempts = ? WHERE id = ?", (due, attempts, job.id))

    def finish(self, job: Job) -> None:
        """Note that the job is done, and drop its content."""
        self._database.execute("UPDATE jobs SET done_at = ?, body = '' WHERE id = ?", (self._clock(), job.id))

    def waits(self) -> bool:
        """Return whether a job waits or is in progress."""
        return self._database.execute("SELECT 1 FROM jobs WHERE done_at IS NULL LIMIT 1").fetchone() is not None

    def clean(self) -> None:
        """Remove ids of jobs and records that are too old to be needed."""
        now = self._clock()
        self._database.execute("DELETE FROM jobs WHERE done_at < ?", (now - JOB_DAYS * DAY_SECONDS,))
        self._database.execute("DELETE FROM records WHERE changed_at < ?", (now - RECORD_DAYS * DAY_SECONDS,))

    def get(self, key: str) -> Json | None:
        """Return a record; None if there is none."""
        row = self._database.execute("SELECT record FROM records WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else None

    def put(self, key: str, record: Mapping[str, Any]) -> None:
        """Write a record, or replace it."""
        self._database.execute(
            "INSERT OR REPLACE INTO records VALUES (?, ?, ?)", (key, json.dumps(record), self._clock())
        )

    def add(self, key: str, record: Mapping[str, Any]) -> Json:
        """Write a record unless the key has one. Return the record that the key has now."""
        self._database.execute(
            "INSERT OR IGNORE INTO records VALUES (?, ?, ?)", (key, json.dumps(record), self._clock())
        )
        return self.get(key) or dict(record)
