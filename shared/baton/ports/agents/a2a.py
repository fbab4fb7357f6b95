"""A2A tasks, push notifications about them, and signatures for clients and receivers."""

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
        """Return the mark of the task that the message ``root`` began, or None.

        The caller checks that the task's user may be read: the mark of a thread that does not exist yet has one.
        """

    async def mark(self, scope: Scope, thread_id: str, mark: TaskMark) -> TaskMark:
        """Store ``mark``, unless the task was cancelled or is another user's. Return the mark that is stored then."""


class PushConfigs(Protocol):
    """Configurations of push notifications, in the partitions of their tasks' threads. Secrets are kept sealed.

    Every method raises ``StoreUnavailable``. The caller has checked that the task is the scope's user's.
    """

    async def put(self, scope: Scope, thread_id: str, config: PushConfig) -> None:
        """Store ``config`` in place of the task's one with the same id.

        In a thread that has reached the limit, it replaces the oldest one of another task. Raises
        ``InvalidRequest`` if the task has reached the limit.
        """

    async def get(self, scope: Scope, thread_id: str, root: str, config_id: str) -> PushConfig | None:
        """Return a configuration with its receiver's secrets, for senders of notifications.

        None if there is none with this id, if it is another user's, or if its secrets can no longer be opened.
        """

    async def of_task(self, scope: Scope, thread_id: str, root: str) -> Sequence[PushConfig]:
        """Return the configurations of a task in the order of their ids, without the secrets of their receivers."""

    async def of_thread(self, scope: Scope, thread_id: str) -> Sequence[PushConfig]:
        """Return the configurations of all tasks of a thread in no order, without the secrets of their receivers."""

    async def delete(self, scope: Scope, thread_id: str, root: str, config_id: str) -> None:
        """Remove a configuration. A missing one is not an error."""


class PushQueue(Protocol):
    """Records that are delivered at least once, those of one group in order."""

    async def send(self, record: ThreadChange | PushNotice | WebhookDelivery) -> None:
        """Queue the record. Raises ``StoreUnavailable``."""

    async def retry(self, receipt_handle: str, seconds: int) -> None:
        """Let the queue deliver the record again after ``seconds``. Its worker then fails it.

        Do nothing if another worker has the record. Raises ``StoreUnavailable``: then it comes after the queue's own
        timeout.
        """


class WebhookRefused(Exception):
    """The deployment does not allow the address. Another attempt is refused too."""


class WebhookUnreachable(Exception):
    """There was no answer in time. A later attempt may get one."""


class Webhooks(Protocol):
    """The addresses of others that notifications are posted to."""

    @property
    def is_on(self) -> bool:
        """True if this deployment sends notifications."""

    def refusal(self, url: str) -> str | None:
        """Return the reason why this deployment never posts to ``url``; None if it may, unless its host is private."""

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """Post ``body`` and return the status of the answer, whose body is not read. No redirect is followed.

        Raises ``WebhookRefused`` and ``WebhookUnreachable``.
        """


class SigningKey(Protocol):
    """One private key. Both methods raise ``InternalError`` if the key cannot be read."""

    async def sign(self, claims: Mapping[str, Any]) -> str:
        """Return ``claims`` as a JWT, which names its key."""

    async def read_public_keys(self) -> Mapping[str, Any]:
        """Return the JWK set (RFC 7517) with which receivers check what was signed."""


class CardSigner(Protocol):
    """The keys of a deployment's cards. Every method raises ``InternalError`` and ``StoreUnavailable`` without them."""

    async def key_id(self) -> str:
        """Return the id of the key that signs."""

    async def signatures(self, card: Mapping[str, Any], keys_url: str) -> list[dict[str, str]]:
        """Return the signatures of ``card``, each with ``protected`` and ``signature`` (RFC 7515).

        ``keys_url``: the address of ``read_public_keys``.
        """

    async def read_public_keys(self) -> Mapping[str, Any]:
        """Return the JWK set (RFC 7517) with which clients check the signatures."""
