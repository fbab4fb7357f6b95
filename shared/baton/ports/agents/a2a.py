"""Ports for A2A tasks, push notifications about them, and signatures for clients and receivers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from baton.domain.tenants.identity import Scope
from baton.domain.threads.a2a_task import TaskMark
from baton.domain.threads.push_config import PushConfig, PushNotice
from baton.domain.threads.thread_change import ThreadChange
from baton.domain.threads.webhook_delivery import WebhookDelivery


class A2ATasks(Protocol):
    """Marks of tasks, in the partitions of their threads. Both methods raise ``StoreUnavailable``."""

    async def get(self, scope: Scope, thread_id: str, root: str) -> TaskMark | None:
        """Return the mark of the task that the message ``root`` began; None if there is none.

        Callers must check that they may read the user's tasks: even the mark of a thread that does not exist yet has
        a user.
        """

    async def mark(self, scope: Scope, thread_id: str, mark: TaskMark) -> TaskMark:
        """Store ``mark``, unless the task was cancelled or is another user's. Return the mark that is stored now."""


class PushConfigs(Protocol):
    """Configurations of push notifications, in the partitions of their tasks' threads. Secrets are stored encrypted.

    Every method raises ``StoreUnavailable``. Callers must check that the task belongs to the scope's user.
    """

    async def put(self, scope: Scope, thread_id: str, config: PushConfig) -> None:
        """Store ``config`` in place of the task's configuration with the same id.

        In a thread that has reached the limit, it replaces the oldest configuration of another task. Raises
        ``InvalidRequest`` if the task has reached the limit.
        """

    async def get(self, scope: Scope, thread_id: str, root: str, config_id: str) -> PushConfig | None:
        """Return a configuration with its receiver's secrets, for senders of notifications.

        None if there is none with this id, if it has expired or is another user's, or if its secrets can no longer be
        decrypted.
        """

    async def of_task(self, scope: Scope, thread_id: str, root: str) -> Sequence[PushConfig]:
        """Return the configurations of a task in the order of their ids, without the secrets of their receivers."""

    async def of_thread(self, scope: Scope, thread_id: str) -> Sequence[PushConfig]:
        """Return the configurations of all tasks of a thread in no order, without the secrets of their receivers."""

    async def delete(self, scope: Scope, thread_id: str, root: str, config_id: str) -> None:
        """Remove a configuration. A missing configuration is not an error."""


class PushQueue(Protocol):
    """A queue that delivers records at least once, and those of one group in order."""

    async def send(self, record: ThreadChange | PushNotice | WebhookDelivery) -> None:
        """Queue the record. Raises ``StoreUnavailable``."""

    async def retry(self, receipt_handle: str, seconds: int) -> None:
        """Make the queue deliver the record again after ``seconds``. The worker must then report the record as failed.

        Do nothing if another worker has the record. Raises ``StoreUnavailable``; the record is then delivered after
        the queue's own timeout.
        """


class WebhookRefused(Exception):
    """The deployment does not allow the address. Another attempt is refused too."""


class WebhookUnreachable(Exception):
    """There was no answer in time. A later attempt may get one."""


class Webhooks(Protocol):
    """A client that posts notifications to addresses of others."""

    @property
    def is_on(self) -> bool:
        """True if this deployment sends notifications."""

    def find_refusal(self, url: str) -> str | None:
        """Return the reason why this deployment never posts to ``url``; None if it may, though ``post`` may refuse."""

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """Post ``body`` and return the HTTP status. The answer's body is not read, and redirects are not followed.

        Raises ``WebhookRefused`` and ``WebhookUnreachable``.
        """


class SigningKey(Protocol):
    """One private key. Both methods raise ``InternalError`` if the key cannot be read."""

    async def sign(self, claims: Mapping[str, Any]) -> str:
        """Return ``claims`` as a JWT, which names its key."""

    async def read_public_keys(self) -> Mapping[str, Any]:
        """Return the JWK set (RFC 7517) with which receivers verify signatures."""


class CardSigner(Protocol):
    """The keys that sign agent cards.

    Every method raises ``InternalError`` for unusable keys, and ``StoreUnavailable`` if they cannot be read.
    """

    async def find_key_id(self) -> str:
        """Return the id of the key that signs."""

    async def sign_card(self, card: Mapping[str, Any], keys_url: str) -> list[dict[str, str]]:
        """Return the signatures of ``card``, each with ``protected`` and ``signature`` (RFC 7515).

        ``keys_url`` is the address at which clients find ``read_public_keys``.
        """

    async def read_public_keys(self) -> Mapping[str, Any]:
        """Return the JWK set (RFC 7517) with which clients verify the signatures."""
