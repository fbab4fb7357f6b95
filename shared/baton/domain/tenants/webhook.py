"""Outgoing webhooks: their events and receivers, and the times at which failed deliveries are repeated."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any, Protocol, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator
from pydantic.alias_generators import to_camel

from baton.domain.definition import find_similar_name
from baton.domain.tenants.egress_policy import LOOPBACK_HOSTS, EgressPolicy, EgressRefused
from baton.domain.web_url import WebUrl

MAX_WEBHOOKS = 1_000
SECRET_PREFIX = "whsec_"  # noqa: S105 - the beginning of secrets of Standard Webhooks
EVERY_TENANT = "*"

ATTEMPT_AGES = (
    *(timedelta(seconds=seconds) for seconds in (0, 10, 60, 300)),
    *(timedelta(minutes=minutes) for minutes in (15, 45)),
    *(timedelta(hours=hours) for hours in (2, 5, 10, 16, 24)),
)
"""The ages of an event at which it is sent until a receiver takes it. The gaps grow from 10 seconds to 8 hours."""


WebhookId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


class HasId(Protocol):
    """An entry of the settings with an id."""

    @property
    def id(self) -> str:
        """The id."""


Entries = TypeVar("Entries", bound=tuple[HasId, ...])


class WebhookEvent(StrEnum):
    """A type of events that webhooks send."""

    DESK_WAITING = "desk.waiting"
    """A conversation waits at a desk for a person."""
    DESK_TAKEN = "desk.taken"
    """A person has taken a conversation at a desk."""
    DESK_RETURNED = "desk.returned"
    """A conversation has returned from a desk to its main agent, or was closed there."""
    MESSAGE_CREATED = "message.created"
    """A message of the user, of an agent or of a person has become part of a conversation."""
    APPROVAL_REQUESTED = "approval.requested"
    """A run waits for a person's approval of a call."""
    RUN_FAILED = "run.failed"
    WORKFLOW_COMPLETED = "workflow.completed"
    """A guided workflow has reached its end."""
    THREAD_CLOSED = "thread.closed"
    """A conversation's session has ended."""


def _check_event(name: Any) -> Any:
    """Return the name. Raise ``ValueError``, with the most similar event, if it is not an event."""
    if isinstance(name, str) and name not in set(WebhookEvent):
        similar = find_similar_name(name, WebhookEvent)
        hint = f": is {similar} meant?" if similar else f". Available: {', '.join(sorted(WebhookEvent))}"
        raise ValueError(f"{name[:100]!r} is not an event of webhooks{hint}")
    return name


class Webhook(BaseModel):
    """One receiver of events, as operators write it in the settings document."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, hide_input_in_errors=True)

    id: WebhookId
    """Its name in lists of deliveries. It stays the same when the address or the secret changes."""
    url: WebUrl
    """The address of its receiver: https, on a host of ``allowedHosts``; locally also http on this machine."""
    events: Annotated[
        tuple[Annotated[WebhookEvent, BeforeValidator(_check_event)], ...], Field(min_length=1, max_length=50)
    ]
    secret_arn: (
        Annotated[
            str,
            StringConstraints(
                pattern=r"^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+$"
            ),
        ]
        | None
    ) = None
    """The ARN of the secret that signs: text in Secrets Manager, ``whsec_`` and bytes in Base64.

    If there are several, separated by white space, all of them sign, so that a receiver can replace one without a gap.
    """
    secret: str | None = Field(default=None, repr=False, max_length=1_000)
    """The secrets themselves, in place of ``secretArn``, in the local cloud only."""
    tenants: Annotated[
        tuple[Annotated[str, StringConstraints(min_length=1, max_length=256)], ...], Field(min_length=1)
    ] = (EVERY_TENANT,)
    """The tenants whose events it gets; ``*``: all."""

    @model_validator(mode="after")
    def _has_one_secret(self) -> Webhook:
        if (self.secret_arn is None) == (self.secret is None):
            raise ValueError("give secretArn, or secret in its place in the local cloud")
        if self.secret is not None:
            parse_signing_keys(self.secret)
        return self

    @property
    def host(self) -> str:
        """The host that is called."""
        return urlsplit(self.url).hostname or ""

    @property
    def is_on_this_machine(self) -> bool:
        """Whether its receiver is on the machine that sends. Only the local cloud calls it."""
        return self.host in LOOPBACK_HOSTS

    def gets(self, tenant_id: str, event: WebhookEvent) -> bool:
        """Return whether the tenant's events of this type are sent to it."""
        return event in self.events and (EVERY_TENANT in self.tenants or tenant_id in self.tenants)

    def find_refusal(self, allowed_hosts: Iterable[str]) -> str | None:
        """Return why a deployment with these ``allowedHosts`` cannot call the receiver; None if it can."""
        if self.is_on_this_machine:
            return None
        try:
            EgressPolicy.of(allowed_hosts).check_url(self.url)
        except EgressRefused as refusal:
            return str(refusal)
        return None


def parse_signing_keys(text: str) -> tuple[str, ...]:
    """Return the secrets in ``text``, each with its prefix. Raises ``ValueError``, which does not quote them."""
    keys = tuple(text.split())
    for key in keys:
        try:
            is_valid = bool(base64.b64decode(key.removeprefix(SECRET_PREFIX) + "==", validate=False))
        except ValueError:  # not ASCII, or of a wrong length
            is_valid = False
        if not key.startswith(SECRET_PREFIX) or not is_valid:
            raise ValueError(f"a secret of a webhook is {SECRET_PREFIX} and bytes in Base64")
    if not keys:
        raise ValueError("the secret of a webhook is empty")
    return keys


def check_unique(entries: Entries) -> Entries:
    """Return the entries. Raise ``ValueError`` if two of them have the same id."""
    name, number = Counter(entry.id for entry in entries).most_common(1)[0] if entries else ("", 0)
    if number > 1:
        raise ValueError(f"{name!r} occurs {number} times")
    return entries


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """The webhooks of a deployment."""

    all: tuple[Webhook, ...] = ()

    def wants(self, tenant_id: str, events: Iterable[WebhookEvent]) -> bool:
        """Return whether any webhook gets one of these events of the tenant."""
        return bool(self.all) and any(webhook.gets(tenant_id, event) for event in events for webhook in self.all)

    def of(self, tenant_id: str, event: WebhookEvent) -> list[Webhook]:
        """Return the webhooks that get the tenant's events of this type."""
        return [webhook for webhook in self.all if webhook.gets(tenant_id, event)]

    def find(self, webhook_id: str) -> Webhook | None:
        """Return the webhook with this id; None if it was removed."""
        return next((webhook for webhook in self.all if webhook.id == webhook_id), None)


def compute_pause(age: timedelta) -> timedelta | None:
    """Return the time until the next attempt for an event of this age; None after the last attempt."""
    return next((later - age for later in ATTEMPT_AGES if later > age), None)
