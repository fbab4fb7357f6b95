"""The kinds of items in the table: their names in counts, and whether restores and exports have them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Handling(StrEnum):
    """The treatment of items of a kind in a restore."""

    HISTORY = "history"
    """Items that are never removed in ordinary use. A missing one was lost, so it is put back."""
    REMOVABLE = "removable"
    """Items that users or Baton remove in ordinary use, so that they may be missing on purpose.

    They are put back with a conversation that is restored as a whole, and otherwise by an explicit choice.
    """
    MOMENT = "moment"
    """Present leases, connections, queues, locks, counts and logs, which are never copied and not exported."""


@dataclass(frozen=True, slots=True)
class ItemKind:
    """A kind of items."""

    name: str
    """The plural, under which items are counted."""
    handling: Handling
    of_thread: bool = False
    """Whether its items are copied with their conversation, whatever their partition."""

    @property
    def count_name(self) -> str:
        """The kind's name in the counts of removals and exports, such as ``acceptedTurns``."""
        first, *others = re.split("[ -]", self.name)
        return first + "".join(word[0].upper() + word[1:] for word in others)

    @property
    def is_exported(self) -> bool:
        """Whether the export of a tenant has its items."""
        return self.handling is not Handling.MOMENT


THREAD_PARTITION = ""
"""The name of conversations' partitions in ``KINDS``."""
ANY = ""
"""The sort key of a kind that has its own partition."""
PROJECT = "~project"
"""The tenant of the project's libraries."""


def _history(name: str) -> ItemKind:
    return ItemKind(name, Handling.HISTORY)


def _removable(name: str) -> ItemKind:
    return ItemKind(name, Handling.REMOVABLE)


def _moment(name: str) -> ItemKind:
    return ItemKind(name, Handling.MOMENT)


def _of_thread(name: str, handling: Handling = Handling.REMOVABLE) -> ItemKind:
    return ItemKind(name, handling, of_thread=True)


KINDS: Mapping[tuple[str, str], ItemKind] = {
    (THREAD_PARTITION, "THREAD"): _of_thread("conversations", Handling.HISTORY),
    (THREAD_PARTITION, "MSG#"): _of_thread("messages", Handling.HISTORY),
    (THREAD_PARTITION, "TURN#"): _of_thread("accepted turns", Handling.HISTORY),
    (THREAD_PARTITION, "CALL#"): _of_thread("tool calls", Handling.HISTORY),
    (THREAD_PARTITION, "TASK#"): _of_thread("sub-tasks", Handling.HISTORY),
    (THREAD_PARTITION, "TASKAT#"): _of_thread("pointers to sub-tasks", Handling.HISTORY),
    (THREAD_PARTITION, "REMOTE#"): _of_thread("tasks of remote agents", Handling.HISTORY),
    (THREAD_PARTITION, "STEP#"): _of_thread("steps", Handling.HISTORY),
    (THREAD_PARTITION, "A2A#"): _of_thread("marks of tasks over A2A", Handling.HISTORY),
    (THREAD_PARTITION, "AUDIT#"): _of_thread("audit records", Handling.HISTORY),
    (THREAD_PARTITION, "CONTEXT#"): _of_thread("prompt records", Handling.HISTORY),
    (THREAD_PARTITION, "REDACTED#"): _of_thread("redacted messages", Handling.HISTORY),
    (THREAD_PARTITION, "COMPLETED#"): _of_thread("completed workflows", Handling.HISTORY),
    (THREAD_PARTITION, "COMPLETEDAT#"): _of_thread("entries of completed workflows", Handling.HISTORY),
    (THREAD_PARTITION, "PROCEDURE#"): _of_thread("notes of procedures", Handling.HISTORY),
    (THREAD_PARTITION, "EPISODE#"): _of_thread("episodes"),  # a tenant's retention removes them
    (THREAD_PARTITION, "FEEDBACK#"): _of_thread("feedback"),
    (THREAD_PARTITION, "PUSH#"): _of_thread("push configurations"),
    (THREAD_PARTITION, "CAPTURE#"): _of_thread("captures"),
    (THREAD_PARTITION, "BACKGROUND#"): _of_thread("background tasks"),
    (THREAD_PARTITION, "DUE#"): _of_thread("due messages"),
    (THREAD_PARTITION, "WEBHOOK#"): _of_thread("dead deliveries"),
    (THREAD_PARTITION, "LOG#"): _moment("pieces of the log"),
    (THREAD_PARTITION, "LIVE#"): _moment("connections and requests"),
    ("USER", "FLOW#"): _of_thread("workflows"),
    ("USER", "UPLOAD#"): _of_thread("notes of uploads"),
    ("USER", "SCHEDULE#"): _removable("schedules"),
    ("USER", "SKILL#"): _history("private skills"),
    ("USER", "ZONE"): _history("time zones"),
    ("USER", "MCPCALL#"): _moment("calls over MCP"),
    ("SCHEDULERS", "USER#"): _removable("users with schedules"),
    ("DESK", "AT#"): _of_thread("places at desks"),
    ("EPISODE", "AT#"): _of_thread("pointers to episodes"),
    ("PROMPTS", "PROMPT#"): _history("system prompts"),
    ("AGENTS", "LIST"): _history("lists of agents"),
    ("AGENTS", "VERSION#"): _history("versions of agents"),
    ("PROCEDURES", "VERSION#"): _history("versions of procedures"),
    ("PROCEDURES", "APPROVED#"): _removable("approved procedures"),
    ("PROCEDURES", "SOURCE#"): _removable("sources of procedures"),
    ("PROCEDURES", "USES#"): _history("uses of procedures"),
    ("PROCEDURES", "USED#"): _moment("counted uses"),
    ("EVALUATIONS", "EVAL#"): _removable("evaluations"),
    ("EVALUATIONS", "DETAILS#"): _removable("details of evaluations"),
    ("DOCUMENTS", "DOC#"): _removable("documents"),
    ("SOURCES", "SOURCE#"): _removable("sources of documents"),
    ("PAGES", "PAGE#"): _removable("pages of sources"),
    ("LEARNING", "DAY#"): _moment("captures of a day"),
    ("AUDIT", "AUDIT#"): _removable("audit records of tenants"),  # a tenant's retention removes them
    ("FORGET", "REQUEST#"): _history("requests to forget"),
    ("FORGET", "USER#"): _moment("latest requests of users"),
    ("FORGET", "THREAD#"): _moment("latest requests of conversations"),
    ("FORGET", "RETENTION"): _moment("latest enforcements of retention"),
    ("SETTINGS", "RETENTION"): _history("retentions"),
    ("SETTINGS", "LIMITS"): _history("limits"),
    ("SPENDING", ANY): _history("counted spending"),
    ("ACTIVITY", ANY): _moment("counts of activity"),
    ("~REMOVAL", "REMOVAL"): _moment("removals of tenants"),
    ("~RETENTION", ANY): _moment("times of retention"),
    ("~PIPELINE", ANY): _moment("background runs"),
    ("~CONN", ANY): _moment("pointers to connections"),
    ("~THREAD", "OWNER"): _of_thread("owners of conversations"),
}
"""Kinds by the name of the partition and the beginning of the sort key. A test fails for a key that is not in it."""


def find_kind(key: Mapping[str, Any]) -> ItemKind | None:
    """Return the kind of the item with this key; None if this release does not know it."""
    name = find_partition_name(key["PK"])
    head, separator, _ = key["SK"].partition("#")
    return KINDS.get((name, head + separator)) or KINDS.get((name, ANY))


def find_partition_name(partition: str) -> str:
    """Return the name of a partition in ``KINDS``, which is empty for conversations."""
    first, _, rest = partition.partition("#")
    if first.startswith("~") and first != PROJECT:
        return first
    return rest[1:].partition("#")[0] if rest.startswith("~") else THREAD_PARTITION


def find_tenant(partition: str) -> str | None:
    """Return the tenant of a partition; None if it belongs to no tenant."""
    first = partition.partition("#")[0]
    return None if first.startswith("~") and first != PROJECT else first
