"""The restore of one conversation: its partition, its items in other partitions, and its files."""

from __future__ import annotations

from collections import Counter
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.item_kinds import Handling, ItemKind, find_kind
from baton.adapters.dynamodb.key_forms import LAST_NUMBER
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.tenants.erased_items import TOMBSTONE, find_desk_place, make_tombstone
from baton.domain.memory.episode import derive_episode_id
from baton.domain.tenants.identity import Scope
from baton.domain.times import to_millis
from baton.ports.clock import Clock
from baton_deployment.restoring.comparison import Pair, apply_to_pairs, compare_partition
from baton_deployment.restoring.due_items import PastDue, prepare_due
from baton_deployment.restoring.forgotten import ANYBODY, ForgottenSince
from baton_deployment.restoring.item_counts import ItemCounts
from baton_deployment.restoring.live_writes import LiveWrites, has_expired
from baton_deployment.restoring.object_versions import ObjectVersions

RESTORING = "restoring"
"""The attribute of the tombstone that replaces a conversation while it is restored."""
FENCE_GAP = 10_000
"""The distance between the stored fence and the fence of the restored conversation.

Workers with leases that are no longer stored have lower fences.
"""
SEQ_GAP = 1_000_000
"""The distance between the stored and the restored number of the next event.

Clients may have seen events after the restored ones. When they resume, they are behind this gap and get a snapshot.
"""
_LEASE = frozenset(
    {
        "lease_owner", "lease_until", "lease_record", "lease_receives", "run_id", "run_message_id", "run_attempt",
        "watchers", "live_changes", "idle_failures",
    }
)  # fmt: skip
"""Attributes of a conversation's item about its present workers and connections."""
_CHANGING = _LEASE | {
    "fence", "next_seq", "last_seq", "idle_shard", "idle_check_at", "listed_at", "unread", "owner_claimed",
}  # fmt: skip
"""Attributes whose differences no user notices."""
_BEFORE_MESSAGES = ("CALL#", "TASK#", "REMOTE#", "STEP#")
"""The beginnings of sort keys that contain the number of a message."""


class Outcome(StrEnum):
    """The outcome of the restore of a conversation."""

    UNCHANGED = "unchanged"
    RESTORED = "restored"
    COMPLETED = "completed"
    REPLACED = "replaced"
    GONE_ON = "gone on"
    DIFFERS = "differs"
    FORGOTTEN = "forgotten"
    TAKEN = "taken"
    BUSY = "busy"
    NOT_BEGUN = "not begun"


@dataclass(frozen=True, slots=True)
class RestoredConversation:
    """The result of the restore of a conversation, or of its plan."""

    outcome: Outcome
    counts: ItemCounts = field(default_factory=ItemCounts)
    files: int = 0


@dataclass(slots=True)
class _Differences:
    """The differences of a conversation between the two tables."""

    lost: Counter[str] = field(default_factory=Counter)
    removable: Counter[str] = field(default_factory=Counter)
    """Missing items that may have been removed in ordinary use, by kind."""
    differing: int = 0
    is_newer: bool = False
    """Whether the live conversation has messages beyond the restored ones."""


class _Mode(NamedTuple):
    """The rules by which items are copied."""

    is_whole: bool
    """Whether removable items and lost items in other partitions are put back too."""
    replaces: bool
    """Whether differing items are replaced, and items that the restored conversation lacks are removed."""


@dataclass(frozen=True, slots=True)
class ConversationRestore:
    """The restore of conversations from one table and bucket to others.

    A conversation that is missing or replaced is hidden by a tombstone with a higher fence until it is complete, so
    that nobody reads or continues a part of it. A repetition finishes an interrupted restore.
    """

    source: Table
    live: Table
    writes: LiveWrites
    forgotten: ForgottenSince
    objects: ObjectVersions | None
    clock: Clock
    replaces: bool = False
    """Whether conversations that have continued since, and items that differ, are replaced."""
    includes_removed: bool = False
    """Whether existing conversations get back items that users or Baton may have removed."""
    past_due: PastDue = PastDue.RUN

    async def restore(self, tenant_id: str, thread_id: str) -> RestoredConversation:
        """Restore a conversation, or for a plan find out the result. Raises ``StoreUnavailable``."""
        anybody = Scope(tenant_id, ANYBODY)
        then = await self.source.get(keys.thread(anybody, thread_id), consistent=False)
        if then is None or ("committed_fence" not in then and then.get("thread_status") != TOMBSTONE):
            return RestoredConversation(Outcome.NOT_BEGUN)
        scope = Scope(tenant_id, then["user_id"])
        if await self.forgotten.has_thread(scope, then):
            return RestoredConversation(Outcome.FORGOTTEN)
        now = await self.live.get(keys.thread(scope, thread_id))
        if now is not None and now.get("thread_status") == TOMBSTONE and RESTORING not in now:
            return RestoredConversation(Outcome.FORGOTTEN)
        owner = await self.live.get(keys.owner(thread_id))
        if owner is not None and owner["tenant_id"] != tenant_id:
            return RestoredConversation(Outcome.TAKEN)
        files = await self._restore_files(scope, thread_id)
        is_lost = now is None or RESTORING in now
        differences = await (self._find_newer(then) if is_lost else self._compare(then))
        result = await self._restore_items(scope, thread_id, then, now, differences)
        is_completed = files and result.outcome is Outcome.UNCHANGED
        return replace(result, outcome=Outcome.COMPLETED if is_completed else result.outcome, files=files)

    async def _restore_items(
        self, scope: Scope, thread_id: str, then: Item, now: Item | None, differences: _Differences
    ) -> RestoredConversation:
        """Restore a lost conversation whole, or the missing items of an existing one.

        ``then`` and ``now`` are the conversation's own items in the two tables.
        """
        if now is None or RESTORING in now:
            replaces = self.replaces or (now is not None and now[RESTORING] == Outcome.REPLACED.value)
            if differences.is_newer and not replaces:
                return RestoredConversation(Outcome.GONE_ON)
            return await self._restore_whole(scope, thread_id, then, now, _Mode(is_whole=True, replaces=replaces))
        has_gone_on = now.get("committed_fence") != then["committed_fence"]
        is_other = has_gone_on or differences.differing or _has_changed(then, now)
        if self.replaces and is_other:
            return await self._restore_whole(scope, thread_id, then, now, _Mode(is_whole=True, replaces=True))
        is_same_thread = now.get("created_at") == then.get("created_at")
        if has_gone_on and not (is_same_thread and now.get("next_ordinal", 0) >= then["next_ordinal"]):
            return RestoredConversation(Outcome.GONE_ON, ItemCounts(differing=differences.differing))
        counts = ItemCounts()
        if differences.lost or (differences.removable and self.includes_removed):
            counts = await self._copy(scope, thread_id, then, _Mode(is_whole=self.includes_removed, replaces=False))
        counts.differing = differences.differing
        if not self.includes_removed:
            counts.removable = differences.removable
        outcome = Outcome.DIFFERS if is_other else Outcome.UNCHANGED
        if has_gone_on:
            outcome = Outcome.GONE_ON
        if counts.items:
            outcome = Outcome.COMPLETED
        return RestoredConversation(outcome, counts)

    async def _restore_whole(
        self, scope: Scope, thread_id: str, then: Item, now: Item | None, mode: _Mode
    ) -> RestoredConversation:
        """Hide the conversation, copy all its items, and show it.

        The outcome is ``BUSY`` if a run is in progress, and ``FORGOTTEN`` if forgetting has begun meanwhile.
        """
        outcome = Outcome.REPLACED if mode.replaces and now is not None else Outcome.RESTORED
        claim = now if now is not None and RESTORING in now else self._claim(scope, then, now, outcome)
        if now is not None and now.get("lease_until", 0) >= to_millis(self.clock.now()):
            return RestoredConversation(Outcome.BUSY)
        is_claimed = now is claim or await (
            self.writes.put_back(claim) if now is None else self.writes.replace(claim, now)
        )
        if not is_claimed:
            return RestoredConversation(Outcome.BUSY)
        counts = await self._copy(scope, thread_id, then, mode)
        await self._copy_owner(scope, thread_id, then, claim, counts.items)
        thread = {name: value for name, value in then.items() if name not in _LEASE}
        thread |= {"fence": claim["fence"], "next_seq": claim["next_seq"], "last_seq": claim["next_seq"] - 1}
        # If forgetting has begun meanwhile, the item has its mark, or the tombstone is deleted.
        is_shown = await self.writes.put_if(
            thread,
            "fence = :fence AND restoring = :outcome AND attribute_not_exists(swept)",
            {":fence": claim["fence"], ":outcome": claim[RESTORING]},
        )
        if not is_shown:
            return RestoredConversation(Outcome.FORGOTTEN)
        counts.items["conversations"] += 1
        return RestoredConversation(outcome, counts)

    def _claim(self, scope: Scope, then: Item, now: Item | None, outcome: Outcome) -> Item:
        """Return the tombstone that hides the conversation. It is in the user's list, so that forgetting finds it."""
        tombstone = make_tombstone(scope, now or then, self.clock)
        live = now or {}
        return {
            **keys.thread(scope, keys.thread_id_of(scope, then)),
            **tombstone,
            "fence": max(then["fence"], live.get("fence", 0)) + FENCE_GAP,
            "next_seq": max(then["next_seq"], live.get("next_seq", 0)) + SEQ_GAP,
            RESTORING: outcome.value,
        }

    # Comparison

    async def _find_newer(self, then: Item) -> _Differences:
        """Return, of the differences of a lost conversation, only whether the live table has newer messages."""
        first, last = keys.message.make_sort_key(then["next_ordinal"]), keys.message.make_sort_key(LAST_NUMBER)
        newer = await self.live.read_all(then["PK"], first=first, last=last, limit=1, enough=1)
        return _Differences(is_newer=bool(newer))

    async def _compare(self, then: Item) -> _Differences:
        """Return the differences of an existing conversation."""
        differences = _Differences()
        async with aclosing(compare_partition(self.source, self.live, then["PK"])) as pairs:
            async for pair in pairs:
                kind = pair.kind
                if kind is None or kind.handling is Handling.MOMENT or pair.item["SK"] == "THREAD":
                    continue
                is_copied = pair.then is not None and _is_committed(pair.then, kind, then)
                if not is_copied or has_expired(pair.item, self.clock.now()):
                    continue
                if pair.is_lost and kind.handling is Handling.REMOVABLE:
                    differences.removable[kind.name] += 1
                elif pair.is_lost:
                    differences.lost[kind.name] += 1
                elif pair.differs:
                    differences.differing += 1
        return differences

    # Copies

    async def _copy(self, scope: Scope, thread_id: str, then: Item, mode: _Mode) -> ItemCounts:
        """Copy the items of the partition except the conversation's own item, and return their numbers.

        If ``mode.is_whole``, copy the conversation's items in other partitions, too.
        """
        counts = ItemCounts()

        async def apply(pair: Pair) -> None:
            kind = pair.kind
            if kind is None or pair.item["SK"] == "THREAD" or pair.item["SK"].startswith(keys.LIVE):
                return
            copied = pair.then if kind.handling is not Handling.MOMENT else None
            if copied is not None and not _is_committed(copied, kind, then):
                copied = None
            if copied is not None:
                copied = prepare_due(copied, self.past_due, self.clock.now())
            if copied is None or has_expired(copied, self.clock.now()):
                if mode.replaces and pair.now is not None and not pair.item["SK"].startswith(keys.AUDIT):
                    counts.removed += await self.writes.remove(pair.now)
                return
            if pair.now is not None:
                if pair.now == copied:
                    return
                if mode.replaces:
                    counts.replaced += await self.writes.replace(copied, pair.now)
                else:
                    counts.differing += 1
                return
            if (mode.is_whole or kind.handling is Handling.HISTORY) and await self.writes.put_back(copied):
                counts.items[kind.name] += 1

        await apply_to_pairs(self.source, self.live, then["PK"], apply)
        if mode.is_whole:
            counts.items += await self._copy_pointers(scope, thread_id, then)
        return counts

    async def _copy_pointers(self, scope: Scope, thread_id: str, then: Item) -> Counter[str]:
        """Copy the conversation's items in other partitions, and return their numbers by kind."""
        episodes = await self.source.read_all(then["PK"], prefix=keys.episode.prefix, consistent=False)
        numbers = [keys.episode.read_number(item) for item in episodes]
        pointer_keys = [
            keys.episode_place(scope, derive_episode_id(thread_id, number), thread_id, number) for number in numbers
        ]
        pointer_keys.append(keys.user_upload(scope, thread_id))
        desk_key = find_desk_place(scope, then)
        if desk_key is not None:
            pointer_keys.append(desk_key)
        items = await self.source.get_many(pointer_keys)
        async for page in self.source.query(keys.user_listing(scope), prefix=keys.FLOW, consistent=False):
            items += [item for item in page if item["thread_id"] == thread_id]
        copied: Counter[str] = Counter()
        for item in items:
            kind = find_kind(item)
            is_lost = await self.live.get({"PK": item["PK"], "SK": item["SK"]}) is None
            if is_lost and not has_expired(item, self.clock.now()) and await self.writes.put_back(item):
                copied[kind.name if kind is not None else ""] += 1
        return copied

    async def _copy_owner(self, scope: Scope, thread_id: str, then: Item, claim: Item, items: Counter[str]) -> None:
        """Put back the item with the tenant of the conversation's id. Remove the conversation from a later desk."""
        owner = await self.source.get(keys.owner(thread_id), consistent=False)
        if owner is None:
            owner = {**keys.owner(thread_id), "tenant_id": scope.tenant_id}
        if await self.live.get(keys.owner(thread_id)) is None and await self.writes.put_back(owner):
            items["owners of conversations"] += 1
        former = find_desk_place(scope, claim)
        if former is not None and former != find_desk_place(scope, then):
            place_item = await self.live.get(former)
            if place_item is not None:
                await self.writes.remove(place_item)

    async def _restore_files(self, scope: Scope, thread_id: str) -> int:
        """Restore the conversation's files, and return their number; 0 if files are not restored."""
        if self.objects is None:
            return 0
        return await self.objects.restore(f"{scope.tenant_id}/{thread_id}/", writes=self.writes.are_made)


def _has_changed(then: Item, now: Item) -> bool:
    """Return whether two items of a conversation differ in more than ``_CHANGING``."""
    names = (then.keys() | now.keys()) - _CHANGING
    return any(then.get(name) != now.get(name) for name in names)


def _is_committed(item: Item, kind: ItemKind, thread: Item) -> bool:
    """Return whether an item belongs to the committed part of the conversation.

    The other items are of a run that was in progress. No worker finishes it; its message can be sent again.
    """
    end = thread["next_ordinal"]
    if kind.name == "messages":
        return bool(keys.message.read_number(item) < end)
    if kind.name == "episodes":
        return bool(keys.episode.read_number(item) < thread["episode"])
    if item["SK"].startswith(_BEFORE_MESSAGES):
        return bool(int(item["SK"].split("#")[1]) < end)
    ordinal = item.get("first_ordinal", item.get("ordinal"))
    return "withdrawn" in item or ordinal is None or bool(ordinal < end)
