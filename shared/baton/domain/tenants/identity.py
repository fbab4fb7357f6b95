"""Tenants, users, permissions, the issuers of tokens, and the ids of threads, runs and records."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from baton.domain.errors import Forbidden, InvalidRequest
from baton.domain.web_url import WebUrl, WithoutCredentials

SUBPROTOCOL = "baton.v1"
"""The WebSocket subprotocol. Clients offer it together with their token, and the server accepts only this one."""
TENANT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
PROJECT_TENANT = "~project"
"""The owner of a project's libraries for all tenants. No tenant has this id, because tenants' ids have no tilde."""
MAX_USER_ID = 256
"""Characters of a user's id."""
LANGUAGE_TAG = re.compile("[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")
"""A language tag without extensions (BCP 47), such as ``de-AT``."""
MAX_USER_NAME = 100
"""Characters of a user's name for people."""
ME = "me"
"""The id of the caller in addresses. No user may have it, because addresses could not name that user."""
DOT_SEGMENTS = frozenset({".", ".."})
"""Segments that clients and gateways remove from addresses (RFC 3986, section 5.2.4), even if they are encoded."""
MAX_EXTERNAL_ID = 256
MAX_MESSAGE_ID = 128

PermissionName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*(:[a-z0-9_-]+)*$", max_length=64)]

_THREADS = uuid.UUID("5f0c8d5e-0a53-5c55-9d0e-6a1f6f8a7b11")
"""Name space of all derived ids. Each user of each tenant has a name space below it."""


class Permission(StrEnum):
    """The permissions that Baton itself checks. Agents may require others by name."""

    SKILL_CREATE = "skill:create"
    AGENT_WRITE = "agent:write"
    DOCUMENT_WRITE = "document:write"
    PROCEDURE_APPROVE = "procedure:approve"
    CONTEXT_INSPECT = "context:inspect"
    THREAD_READ_ALL = "thread:read_all"
    AUDIT_READ = "audit:read"
    TOOL_APPROVE = "tool:approve"
    USER_MANAGE = "user:manage"
    PII_READ = "pii:read"
    TENANT_MANAGE = "tenant:manage"
    TENANT_EXPORT = "tenant:export"
    TENANT_REMOVE = "tenant:remove"
    TRACE_CONTINUE = "trace:continue"
    DESK_ANSWER = "desk:answer"
    SCHEDULE_MANAGE = "schedule:manage"
    EVENT_SEND = "event:send"


@dataclass(frozen=True, slots=True)
class Scope:
    """The tenant, user and permissions of one request. Every method of a store acts inside one.

    Raises ``InvalidRequest`` for a tenant id outside ``[a-z0-9][a-z0-9_-]{0,62}`` and for an empty, overlong,
    unprintable or reserved user id, so that such ids never reach a key.
    """

    tenant_id: str
    user_id: str
    permissions: frozenset[str] = field(default_factory=frozenset)
    subject_token: str | None = field(default=None, compare=False, repr=False)
    """The encrypted token of the request, for calls that act for the user; None if the request has none to pass on."""
    name: str | None = field(default=None, compare=False)
    """The user's name for people, as the token gives it; None if it gives none."""
    picture: str | None = field(default=None, compare=False)
    """The address of the user's picture, as the token gives it; None if it gives none."""
    locale: str | None = field(default=None, compare=False)
    """The user's language from the token, or else from the request: a language tag such as ``de-AT``."""

    def __post_init__(self) -> None:
        if not TENANT_ID.fullmatch(self.tenant_id):
            raise InvalidRequest("The tenant id must match [a-z0-9][a-z0-9_-]{0,62}.")
        if not is_printable(self.user_id, MAX_USER_ID):
            raise InvalidRequest(f"The user id must be 1 to {MAX_USER_ID} printable characters.")
        if is_reserved_user(self.user_id):
            raise InvalidRequest(f"The user id {self.user_id} is reserved: addresses give it another meaning.")

    def in_language(self, locale: str | None) -> Scope:
        """Return the scope with the language that a request names, unless the token gives one."""
        return self if self.locale is not None or locale is None else replace(self, locale=locale)

    def has(self, permission: str) -> bool:
        """Return whether the caller holds ``permission``."""
        return permission in self.permissions

    def require(self, permission: str, action: str | None = None) -> None:
        """Raise ``Forbidden`` unless the caller holds ``permission``; ``action`` is for the audit."""
        if not self.has(permission):
            raise Forbidden(f"This needs the permission {permission}.", permission=str(permission), action=action)


class ProjectScope(Scope):
    """The scope of the project's libraries. ``Scope`` refuses its ids, so that no request can have this scope."""

    __slots__ = ()

    def __init__(self, permissions: frozenset[str] = frozenset()) -> None:
        super().__init__(PROJECT_TENANT, "~deployment", permissions)

    def __post_init__(self) -> None:
        """Accept the ids that belong to no tenant and no user."""


def make_stored_scope(tenant_id: str, user_id: str) -> Scope:
    """Return the scope of a stored record, which may belong to the project. Never use it for ids of a request."""
    return ProjectScope() if tenant_id == PROJECT_TENANT else Scope(tenant_id, user_id)


@dataclass(frozen=True, slots=True)
class ThreadRef:
    """A thread as a caller names it, resolved to its canonical id."""

    id: str
    """Canonical lower-case UUID."""
    may_create: bool
    """Whether a conversation may begin with the id. False for a caller's UUID of version 5, which mapped ids have."""


def is_printable(text: str, longest: int) -> bool:
    """Return whether ``text`` has 1 to ``longest`` printable characters: no controls, no lone surrogates."""
    return 1 <= len(text) <= longest and text.isprintable()


def is_reserved_user(user_id: str) -> bool:
    """Return whether addresses give the id another meaning, so that no user can have it."""
    return user_id == ME or user_id in DOT_SEGMENTS


def resolve_thread_ref(scope: Scope, thread_id: str) -> ThreadRef:
    """Resolve a caller's thread id. A UUID is used as it is; any other id is mapped to a UUIDv5.

    The mapping depends on tenant and user, so that no other user can occupy an id or learn that it is in use.

    Raises ``InvalidRequest`` unless ``thread_id`` is 1 to 256 printable characters, and for ``.`` and ``..``.
    """
    if not is_printable(thread_id, MAX_EXTERNAL_ID):
        raise InvalidRequest(f"threadId must be 1 to {MAX_EXTERNAL_ID} printable characters.")
    if thread_id in DOT_SEGMENTS:
        raise InvalidRequest(f"threadId must not be {thread_id}, which addresses cannot hold.")
    own = _as_uuid(thread_id)
    if own is not None:
        return ThreadRef(str(own), may_create=own.version != 5)
    return ThreadRef(str(uuid.uuid5(_derive_user_space(scope), thread_id)), may_create=True)


def resolve_imported_thread_ref(scope: Scope, thread_id: str) -> ThreadRef:
    """Resolve an imported conversation's id: like ``resolve_thread_ref``, but a UUID of version 5 is mapped too.

    Such an id comes from the export of another user or deployment, where it is a mapped id.
    """
    own = _as_uuid(thread_id)
    if own is not None and own.version == 5:
        return ThreadRef(str(uuid.uuid5(_derive_user_space(scope), str(own))), may_create=True)
    return resolve_thread_ref(scope, thread_id)


def derive_thread_ref(scope: Scope, message_id: str, digest: str | None = None) -> ThreadRef:
    """Return the thread for a first message without a thread id. Every retry gets the same thread.

    With the ``digest`` of the message's content, the same id with other content has another thread.
    """
    # Printable ids cannot contain a NUL, so no external id maps to the same UUID.
    name = f"message\0{message_id}" if digest is None else f"message\0{message_id}\0{digest}"
    return ThreadRef(str(uuid.uuid5(_derive_user_space(scope), name)), may_create=True)


def derive_run_id(thread_id: str, message_id: str) -> str:
    """Return the run id for a message whose client gave none. Every retry gets the same id."""
    return str(uuid.uuid5(uuid.UUID(thread_id), f"run\0{message_id}"))


def derive_message_id(thread_id: str, message_id: str, attempt: int, index: int) -> str:
    """Return the id of the ``index``-th message that an attempt at answering ``message_id`` writes."""
    return str(uuid.uuid5(uuid.UUID(thread_id), f"answer\0{message_id}\0{attempt}\0{index}"))


def derive_record_id(thread_id: str, action: str, about: str) -> str:
    """Return the id of the only record that ``action`` creates in the thread about ``about``, a key of its subject."""
    return str(uuid.uuid5(uuid.UUID(thread_id), f"audit\0{action}\0{about}"))


def is_thread_id(text: str) -> bool:
    """Return whether ``text`` is the canonical id of a thread: a UUID in lower case."""
    return text == text.lower() and _as_uuid(text) is not None


def derive_procedure_record_id(scope: Scope, action: str, about: str) -> str:
    """Return the id of the only record that ``action`` creates in the tenant about ``about``, a key of a procedure."""
    return str(uuid.uuid5(uuid.uuid5(_THREADS, scope.tenant_id), f"procedure\0{action}\0{about}"))


def _derive_user_space(scope: Scope) -> uuid.UUID:
    return uuid.uuid5(uuid.uuid5(_THREADS, scope.tenant_id), scope.user_id)


def _as_uuid(thread_id: str) -> uuid.UUID | None:
    # Only the canonical form counts as a UUID. uuid.UUID() also accepts braces, a urn: prefix and no hyphens, but a
    # host's own 32-digit id must not be taken for one.
    if re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", thread_id) is None:
        return None
    return uuid.UUID(thread_id)


SignatureAlgorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]  # fmt: skip
"""Asymmetric algorithms only: a key that verifies must not sign, and a shared secret does not prove who signed."""
SIGNATURE_ALGORITHMS: frozenset[str] = frozenset(get_args(SignatureAlgorithm))
_Text = Annotated[str, Field(min_length=1)]


class OidcIssuer(BaseModel):
    """One trusted issuer, as an operator writes it in ``tokenIssuers`` of the settings.

    An issuer without ``tenant`` is trusted for every tenant that its tokens name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    issuer: Annotated[_Text, WithoutCredentials]
    audience: _Text | Annotated[tuple[_Text, ...], Field(min_length=1)]
    jwks_url: WebUrl | None = None
    """The address of the keys; None to find it by OpenID Connect Discovery."""
    algorithms: Annotated[tuple[SignatureAlgorithm, ...], Field(min_length=1)] = ("RS256",)
    tenant: Annotated[str, Field(pattern=f"^{TENANT_ID.pattern}$")] | None = None
    """The tenant of this issuer's users, whatever tenant their tokens name."""
    tenant_claim: _Text = "tenant"
    permissions_claim: _Text = "permissions"
    listed: bool = True
    """True if agent cards and metadata, which anybody may read, name this issuer."""
