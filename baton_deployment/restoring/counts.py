"""The counts of a restore, for its plan, its progress and its result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from baton_deployment.restoring.conversation import Outcome, RestoredConversation
from baton_deployment.restoring.conversation_check import ConversationState
from baton_deployment.restoring.item_counts import ItemCounts
from baton_deployment.restoring.records import RestoredRecords

LISTED = 20
"""The most conversations whose ids are listed for an outcome."""
ATTENTION = (Outcome.GONE_ON, Outcome.DIFFERS, Outcome.TAKEN, Outcome.BUSY)
"""Outcomes whose conversations an operator may want to inspect."""
LINES: Mapping[Outcome, str] = {
    Outcome.RESTORED: "are missing: they come back whole",
    Outcome.COMPLETED: "lack items or files: these come back",
    Outcome.REPLACED: "have changed since: they are replaced (--replace)",
    Outcome.UNCHANGED: "are as they were",
    Outcome.GONE_ON: "have gone on since: left alone (--replace replaces them)",
    Outcome.DIFFERS: "have other content under the same state: left alone (--replace replaces them)",
    Outcome.FORGOTTEN: "were forgotten since, or are too old by the tenant's retention: they stay away",
    Outcome.TAKEN: "have an id that another tenant uses: left alone",
    Outcome.BUSY: "have a run in progress: repeat the command for them",
}


DONE: Mapping[Outcome, str] = {
    Outcome.RESTORED: "were missing and are back",
    Outcome.COMPLETED: "lacked items or files, which are back",
    Outcome.REPLACED: "had changed since and are replaced",
}
"""Lines after a restore, as far as they differ from the plan's."""


@dataclass(slots=True)
class Counts(ItemCounts):
    """Counts by outcome and by kind."""

    conversations: Counter[str] = field(default_factory=Counter)
    """The numbers of conversations by outcome."""
    files: int = 0
    """The number of restored files."""
    forgotten_records: int = 0
    """The number of records of forgotten users, which are left out."""
    removed_partitions: int = 0
    """The number of conversations, and of partitions with records, of removed tenants."""
    unknown: int = 0
    """The number of items of unknown kinds, which are not copied."""
    listed: dict[str, list[str]] = field(default_factory=dict)
    """The first conversations of outcomes that need attention, as tenant and id."""
    checked: int = 0
    """The number of live conversations that were checked; the numbers below are of these."""
    messages: int = 0
    lost_messages: int = 0
    lost_bodies: int = 0

    def add_conversation(self, tenant_id: str, thread_id: str, result: RestoredConversation) -> None:
        """Count the result for a conversation."""
        if result.outcome is Outcome.NOT_BEGUN:
            return
        self.conversations[result.outcome.value] += 1
        self.add(result.counts)
        self.files += result.files
        if result.outcome in ATTENTION:
            self._list(result.outcome.value, tenant_id, thread_id)

    def add_check(self, tenant_id: str, thread_id: str, state: ConversationState) -> None:
        """Count the check of a conversation."""
        self.checked += state.is_there
        self.messages += state.messages
        self.lost_messages += state.lost_messages
        self.lost_bodies += state.lost_bodies
        if not state.is_sound:
            self._list("incomplete", tenant_id, thread_id)

    def _list(self, heading: str, tenant_id: str, thread_id: str) -> None:
        listed = self.listed.setdefault(heading, [])
        if len(listed) < LISTED:
            listed.append(f"{tenant_id} {thread_id}")

    def add_records(self, result: RestoredRecords) -> None:
        """Count the result for a partition of records."""
        self.add(result)
        self.forgotten_records += result.forgotten
        self.unknown += result.unknown

    @property
    def changes(self) -> int:
        """The number of items and files that were written or removed, or would be."""
        return self.items.total() + self.files + self.replaced + self.removed

    def lines(self, *, planned: bool) -> Iterator[str]:
        """Yield the counts as lines for an operator: of a plan, or of what was done."""
        for outcome, text in LINES.items():
            if number := self.conversations[outcome.value]:
                yield f"{number:>9,} conversations {text if planned else DONE.get(outcome, text)}"
                for entry in self.listed.get(outcome.value, ()):
                    yield f"{'':>11}{entry}"
        for name, number in sorted(self.items.items()):
            yield f"{number:>9,} {name} {'to put back' if planned else 'put back'}"
        for number, text in (
            (self.files, "files to bring back" if planned else "files brought back"),
            (self.replaced, "items to replace" if planned else "items replaced"),
            (self.removed, "newer items to remove" if planned else "newer items removed"),
            (self.differing, "items differ: left alone"),
            (self.contradicting, "missing items contradict newer ones: left out"),
            (self.forgotten_records, "records of forgotten users: they stay away"),
            (self.removed_partitions, "conversations and lists of removed tenants: they stay away"),
            (
                self.unknown,
                "items of kinds that this release does not know: not copied. Use the release that wrote them",
            ),
        ):
            if number:
                yield f"{number:>9,} {text}"
        for name, number in sorted(self.removable.items()):
            yield f"{number:>9,} {name} are missing and may have been removed on purpose (--removed puts them back)"

    def as_json(self) -> dict[str, Any]:
        """Return the counts as JSON values, without those of the check."""
        return {
            "conversations": dict(self.conversations),
            "items": dict(self.items),
            "removable": dict(self.removable),
            "files": self.files,
            "contradicting": self.contradicting,
            "replaced": self.replaced,
            "removed": self.removed,
            "differing": self.differing,
            "forgottenRecords": self.forgotten_records,
            "removedPartitions": self.removed_partitions,
            "unknown": self.unknown,
            "listed": self.listed,
        }

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the counts from the values of ``as_json``."""
        return cls(
            items=Counter(stored["items"]),
            removable=Counter(stored["removable"]),
            contradicting=stored.get("contradicting", 0),  # not in progress that an earlier release has kept
            replaced=stored["replaced"],
            removed=stored["removed"],
            differing=stored["differing"],
            conversations=Counter(stored["conversations"]),
            files=stored["files"],
            forgotten_records=stored["forgottenRecords"],
            removed_partitions=stored.get("removedPartitions", 0),
            unknown=stored["unknown"],
            listed={name: list(entries) for name, entries in stored["listed"].items()},
        )
