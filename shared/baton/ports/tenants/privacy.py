"""Ports for the removal of all data of threads and users, and for the detection of personal data."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from baton.domain.memory.forgetting import EpisodeTrace, ForgetRequest, ThreadTrace
from baton.domain.tenants.identity import Scope


class PiiKind(StrEnum):
    """A kind of personal data. The value is the word of its placeholder, such as ``[email]``."""

    EMAIL = "email"
    PHONE = "phone"
    CARD = "card"
    IBAN = "iban"
    NATIONAL_ID = "national id"


@dataclass(frozen=True, slots=True)
class PiiSpan:
    """Personal data in a text, from the character ``start`` up to ``end``, which is excluded."""

    start: int
    end: int
    kind: PiiKind


class Erasure(Protocol):
    """The removal of items from the table. Every method acts inside ``scope``: its tenant and, in lists, its user.

    Each method may be repeated. Methods that remove items return their number, by kind.
    """

    async def note_upload(self, scope: Scope, thread_id: str) -> None:
        """Note that the user may upload files under a thread id, even if no conversation has the id yet."""

    def threads(self, scope: Scope) -> AsyncIterator[Sequence[ThreadTrace]]:
        """Yield pages of the user's threads, without forks: those in use, tombstones, and ids with uploads only."""

    def list_inactive_threads(self, scope: Scope, before: datetime) -> AsyncIterator[Sequence[ThreadTrace]]:
        """Yield pages of the tenant's threads, without forks: those in use and tombstones.

        All threads that were last active before ``before`` are included. Others that were created before may be.
        """

    async def list_forks(self, scope: Scope, thread_id: str) -> Sequence[ThreadTrace]:
        """Return the forks of a thread, including tombstones."""

    async def trace(self, scope: Scope, thread_id: str) -> ThreadTrace | None:
        """Return the trace that is left of the thread; None if it has neither item nor tombstone."""

    async def bury(self, scope: Scope, thread: ThreadTrace, *, unless_active_since: datetime | None = None) -> bool:
        """Replace the thread's item by a tombstone. The holder of its lease loses the lease and cannot commit.

        The tombstone keeps the fence and the sequence numbers, so that late writes of lost workers are refused. Returns
        False, without a change, if the thread is another user's or no longer exists, or with ``unless_active_since`` if
        it was active at or after that time or is leased.
        """

    async def sweep(self, scope: Scope, thread_id: str, *, deadline: float) -> tuple[Mapping[str, int], bool]:
        """Remove all items of a buried thread but its tombstone, and the content of its audit records.

        Stop at ``deadline`` (of the event loop's clock). Return the counts of removed items, and whether none is left.
        """

    async def mark_swept(self, scope: Scope, thread_id: str, mark: str) -> None:
        """Note on the tombstone the request and the round that swept it."""

    async def count_left(self, scope: Scope, thread_id: str) -> Mapping[str, int]:
        """Return the number of items left of a buried thread, by kind, without tombstone and redacted audit records."""

    async def unlink(self, scope: Scope, thread_id: str) -> int:
        """Remove the thread's workflows from lists in the user's other threads, and return the number."""

    async def unbury(self, scope: Scope, thread_id: str) -> None:
        """Remove the tombstone and the owner of the id, so that the id is unused again."""

    async def sweep_user(self, scope: Scope, *, before: datetime) -> Mapping[str, int]:
        """Remove the user's items outside of threads, except those that were changed after ``before``.

        Return the counts of removed items. The tenant's list of users with schedules names the user only if some stay.
        """

    async def count_left_of_user(self, scope: Scope, *, before: datetime) -> Mapping[str, int]:
        """Return the number of items that ``sweep_user`` would remove, by kind."""

    async def sweep_audit(self, scope: Scope, *, before: datetime, deadline: float) -> tuple[Mapping[str, int], bool]:
        """Remove the tenant's audit records older than ``before``, but not the handoffs of conversations in use.

        Stop at ``deadline``, and return as ``sweep`` does.
        """

    def list_ended_episodes(self, scope: Scope, before: datetime) -> AsyncIterator[Sequence[EpisodeTrace]]:
        """Yield pages of the tenant's episodes that ended before ``before``, and of removed but still listed ones."""

    async def sweep_episode(self, scope: Scope, episode: EpisodeTrace, *, before: datetime) -> None:
        """Remove an episode that ended ``before``. Its messages stay, and it stays listed until ``unlist_episode``."""

    async def unlist_episode(self, scope: Scope, episode: EpisodeTrace, *, before: datetime) -> None:
        """Remove the list entry of an episode that ended ``before``, and the item that finds it by its id."""


class ObjectErasure(Protocol):
    """The removal of objects from the bucket, with all their versions and delete markers."""

    async def sweep(self, scope: Scope, thread_id: str, *, deadline: float) -> tuple[int, bool]:
        """Remove the objects below the thread's prefix, until ``deadline`` (of the event loop's clock).

        Return the number of removed versions, and whether none is left.
        """

    async def count_left(self, scope: Scope, thread_id: str) -> int:
        """Return the number of remaining versions and delete markers, at most a page of them."""

    async def sweep_uploads(self, scope: Scope, *, before: datetime, deadline: float) -> tuple[int, bool]:
        """Remove the tenant's uploads older than ``before``. Returns as ``sweep`` does."""

    async def count_of_tenant(self, scope: Scope, position: str | None) -> tuple[int, str | None]:
        """Count a page of the versions of all objects of the tenant, and return the position of the next page.

        The position None is the beginning; as a result, it is the end.
        """

    async def sweep_tenant(self, scope: Scope) -> tuple[int, bool]:
        """Remove a page of the tenant's object versions. Return their number, and whether all are removed."""


class ForgetRequests(Protocol):
    """The requests of tenants to forget. They hold ids and counts only, and are kept."""

    async def open(self, scope: Scope, request: ForgetRequest) -> ForgetRequest:
        """Store the request and return it. While another request for the subject is running, return that instead."""

    async def get(self, scope: Scope, request_id: str) -> ForgetRequest | None:
        """Return a request of the tenant; None if there is none with this id."""

    async def find_latest(self, scope: Scope, thread_id: str) -> ForgetRequest | None:
        """Return the latest request for the thread; None if none was made in the last weeks."""

    async def find_latest_of_retention(self, scope: Scope) -> ForgetRequest | None:
        """Return the latest request that enforced the tenant's retention; None if there was none in the last weeks."""

    async def save(self, scope: Scope, request: ForgetRequest) -> None:
        """Store the progress of a request, and its cut-off for ``find_cutoff``."""

    async def find_cutoff(self, scope: Scope, thread_id: str) -> datetime | None:
        """Return the latest cut-off of the scope's user or of the thread; None if neither was forgotten recently."""


class Forgettings(Protocol):
    """The pipeline that carries out requests to forget."""

    async def start(self, request: ForgetRequest) -> None:
        """Start the pipeline; a repetition changes nothing. Raises ``StoreUnavailable``."""

    async def start_work(self, tenant_id: str, work_id: str, name: str) -> None:
        """Start the pipeline for work on a whole tenant. A repetition with the same ``name`` changes nothing.

        Raises ``StoreUnavailable``.
        """


class PiiDetector(Protocol):
    """A detector of personal data in texts."""

    async def detect(self, text: str) -> Sequence[PiiSpan]:
        """Return the personal data in a text, in any order. Spans may overlap.

        The time is proportional to the text's length, and the event loop is not blocked.
        """
