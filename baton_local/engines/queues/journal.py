"""The queues in a SQLite file, so that they outlive the process, however it ends."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from baton_local.engines.queues.fifo import FifoQueue, Message, Rules, Sent, as_text, from_text
from baton_local.errors import EngineFailed

SCHEMA = """
CREATE TABLE IF NOT EXISTS queues (name TEXT PRIMARY KEY, attributes TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS messages (
    queue TEXT NOT NULL, number INTEGER NOT NULL, message TEXT NOT NULL, PRIMARY KEY (queue, number)
);
CREATE TABLE IF NOT EXISTS sent (
    queue TEXT NOT NULL, scope TEXT NOT NULL, number INTEGER NOT NULL, message_id TEXT NOT NULL, until REAL NOT NULL,
    PRIMARY KEY (queue, scope)
);
CREATE INDEX IF NOT EXISTS sent_until ON sent (until);
"""


class Journal:
    """The contents of the queues, on disk when ``save`` returns; used by one thread at a time.

    A killed process loses nothing, because the operating system has the data then. A machine that loses power may lose
    the last commits.
    """

    def __init__(self, file: Path) -> None:
        """Raises ``EngineFailed`` when another process has the file."""
        file.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(file, timeout=1, isolation_level=None, check_same_thread=False)
        try:
            self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.executescript(SCHEMA)
            self._database.execute("BEGIN IMMEDIATE")
            self._database.execute("COMMIT")
        except sqlite3.OperationalError as problem:
            self._database.close()
            raise EngineFailed(
                f"Another local cloud uses {file.parent}, or it cannot be written: {problem}."
            ) from problem

    def load(self, now: float) -> dict[str, tuple[dict[str, str], FifoQueue]]:
        """Return the attributes and the contents of each queue, by its name."""
        self._forget_sent(now)
        queues = {}
        for name, text in self._database.execute("SELECT name, attributes FROM queues").fetchall():
            attributes = json.loads(text)
            queue = FifoQueue(Rules.of(attributes))
            messages = self._database.execute("SELECT message FROM messages WHERE queue = ?", (name,))
            sent = self._database.execute("SELECT scope, number, message_id, until FROM sent WHERE queue = ?", (name,))
            queue.restore([from_text(row[0]) for row in messages], [Sent(*row) for row in sent.fetchall()])
            queues[name] = (attributes, queue)
        return queues

    def define(self, name: str, attributes: Mapping[str, str]) -> None:
        """Store a queue's attributes."""
        self._database.execute("INSERT OR REPLACE INTO queues VALUES (?, ?)", (name, json.dumps(dict(attributes))))

    def save(self, queues: Mapping[str, FifoQueue], now: float) -> None:
        """Store the changes of these queues since the last call, all of them or none.

        Deduplication ids that have expired at ``now`` are removed from the file.
        """
        with self._transaction():
            for name, queue in queues.items():
                changed: list[Message] = list(queue.changed.values())
                self._database.executemany(
                    "INSERT OR REPLACE INTO messages VALUES (?, ?, ?)",
                    [(name, message.number, as_text(message)) for message in changed],
                )
                self._database.executemany(
                    "DELETE FROM messages WHERE queue = ? AND number = ?", [(name, number) for number in queue.removed]
                )
                self._database.executemany(
                    "INSERT OR REPLACE INTO sent VALUES (?, ?, ?, ?, ?)",
                    [(name, sent.scope, sent.number, sent.message_id, sent.until) for sent in queue.remembered],
                )
            self._forget_sent(now)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _forget_sent(self, now: float) -> None:
        self._database.execute("DELETE FROM sent WHERE until <= ?", (now,))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:  # SQLite ends it by itself after some errors of the disk
                self._database.execute("ROLLBACK")
            raise
