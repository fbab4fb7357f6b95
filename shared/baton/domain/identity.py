"""Who acts, and in whose name: tenants, users, permissions, and the ids of threads."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from pydantic import StringConstraints

from baton.domain.errors import Forbidden, InvalidRequest

SUBPROTOCOL = "baton.v1"
"""The WebSocket subprotocol that a client offers beside its token, and the only one the server answers with."""
TENANT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
MAX_USER_ID = 256
MAX_EXTERNAL_ID = 256
MAX_MESSAGE_ID = 128

PermissionName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*(:[a-z0-9_-]+)*$", max_length=64)]

_THREADS = uuid.UUID("5f0c8d5e-0a53-5c55-9d0e-6a1f6f8a7b11")
"""Name space of every id Baton derives; each user of each tenant has its own name space below it."""


class Permission(StrEnum):
    """The permissions Baton itself asks for; agents may require any other by name."""

    SKILL_CREATE = "skill:create"
    AGENT_WRITE = "agent:write"
    DOCUMENT_WRITE = "document:write"
    PROCEDURE_APPROVE = "procedure:approve"
    CONTEXT_INSPECT = "context:inspect"
    THREAD_READ_ALL = "thread:read_all"
    AUDIT_READ = "audit:read"
    TOOL_APPROVE = "tool:approve"
    USER_MANAGE = "user:manage"


@dataclass(frozen=True, slots=True)
class Scope:
    """The tenant, user and permissions of one request. Every repository method acts inside one.

    Raises ``InvalidRequest`` for a tenant id outside ``[a-z0-9][a-z0-9_-]{0,62}`` or an empty, overlong or
    unprintable user id: such ids never reach a key.
    """

    tenant_id: str
    user_id: str
    permissions: frozenset[str] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        if not TENANT_ID.fullmatch(self.tenant_id):
            raise InvalidRequest("The tenant id must match [a-z0-9][a-z0-9_-]{0,62}.")
        if not is_printable(self.user_id, MAX_USER_ID):
            raise InvalidRequest(f"The user id must be 1 to {MAX_USER_ID} printable characters.")

    def has(self, permission: str) -> bool:
        """Whether the caller holds ``permission``."""
        return permission in self.permissions

    def require(self, permission: str, action: str | None = None) -> None:
        """Raise ``Forbidden`` unless the caller holds ``permission``; the audit calls the attempt ``action``."""
        if not self.has(permission):
            raise Forbidden(f"This needs the permission {permission}.", permission=str(permission), action=action)


@dataclass(frozen=True, slots=True)
class ThreadRef:
    """A thread as a caller names it, resolved to its canonical id."""

    id: str
    """Canonical lower-case UUID."""
    may_create: bool
    """False for a caller's own UUID of version 5: those are kept for mapped ids and never begin a conversation."""


def is_printable(text: str, longest: int) -> bool:
    """Whether ``text`` has 1 to ``longest`` characters, all printable: no control characters, no lone surrogates."""
    return 1 <= len(text) <= longest and text.isprintable()


def thread_ref(scope: Scope, given: str) -> ThreadRef:
    """Resolve a caller's thread id: a UUID stands for itself, any other stable id maps to a UUIDv5.

    It maps within tenant and user, so that nobody can occupy an id that another user's host application will use, or
    learn that it is in use.

    Raises ``InvalidRequest`` unless ``given`` is 1 to 256 printable characters.
    """
    if not is_printable(given, MAX_EXTERNAL_ID):
        raise InvalidRequest(f"threadId must be 1 to {MAX_EXTERNAL_ID} printable characters.")
    own = _as_uuid(given)
    if own is not None:
        return ThreadRef(str(own), may_create=own.version != 5)
    return ThreadRef(str(uuid.uuid5(_user_space(scope), given)), may_create=True)


def derived_thread_ref(scope: Scope, message_id: str) -> ThreadRef:
    """The thread of a first message sent without a thread id: the same for every retry of that message."""
    # Printable ids cannot contain a NUL, so no external id maps to the same UUID.
    return ThreadRef(str(uuid.uuid5(_user_space(scope), f"message\0{message_id}")), may_create=True)


def derived_run_id(thread_id: str, message_id: str) -> str:
    """The run of a message whose client gave no run id: the same for every retry."""
    return str(uuid.uuid5(uuid.UUID(thread_id), f"run\0{message_id}"))


def derived_message_id(thread_id: str, message_id: str, attempt: int, index: int) -> str:
    """The id of the ``index``-th message that an attempt at answering ``message_id`` writes."""
    return str(uuid.uuid5(uuid.UUID(thread_id), f"answer\0{message_id}\0{attempt}\0{index}"))


def derived_record_id(thread_id: str, action: str, about: str) -> str:
    """The id of the one audit record that ``action`` makes about something of the thread, however often it is tried."""
    return str(uuid.uuid5(uuid.UUID(thread_id), f"audit\0{action}\0{about}"))


def _user_space(scope: Scope) -> uuid.UUID:
    return uuid.uuid5(uuid.uuid5(_THREADS, scope.tenant_id), scope.user_id)


def _as_uuid(given: str) -> uuid.UUID | None:
    # Only the canonical form counts as a UUID: uuid.UUID() would also take braces, a urn: prefix and no hyphens,
    # and a host's own 32-digit id must stay what the host meant by it.
    if re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", given) is None:
        return None
    return uuid.UUID(given)
