"""Settings of push notifications of A2A tasks."""

from __future__ import annotations

from pydantic import Field

from baton.domain.egress_policy import EgressPolicy
from baton.settings.base import Name, Settings, Url
from baton.settings.lists import Hosts


class PushSettings(Settings):
    """Push notifications of A2A tasks: where they may go."""

    stage: Name = Field(validation_alias="BATON_STAGE")
    hosts: Hosts = Field(default="", validation_alias="BATON_PUSH_HOSTS")
    """Hosts that clients may be notified at, written like ``BATON_ALLOWED_HOSTS``. Empty: nobody is notified, except
    receivers on this machine in the local cloud."""

    @property
    def egress(self) -> EgressPolicy:
        return EgressPolicy.of(self.hosts.split(","), allow_local=self.stage == "local")

    @property
    def is_on(self) -> bool:
        """True if anybody may be notified: receivers on the same machine always, in the local cloud."""
        return bool(self.egress.hosts) or self.egress.allow_local


class PushQueueSettings(Settings):
    """The queue of push notifications."""

    push_queue_url: Url = Field(validation_alias="BATON_PUSH_QUEUE_URL")


class PushKeySettings(Settings):
    """The secret from which the keys of push notifications are derived."""

    stage: Name = Field(validation_alias="BATON_STAGE")
    stack: Name = Field(default="baton", validation_alias="BATON_STACK")
    own_secret: Name | None = Field(default=None, validation_alias="BATON_PUSH_KEY_SECRET")

    @property
    def secret(self) -> str:
        """The secret's name: without one of its own, that of the stack's. Variables of a function are 4 KB at most."""
        return self.own_secret or f"{self.stack}/push-key"

    @property
    def is_local(self) -> bool:
        return self.stage == "local"


class PushIssuerSettings(Settings):
    """Who push notifications say they are from."""

    issuer: Url = Field(validation_alias="BATON_PUSH_ISSUER")
    """The address of the API, below which ``/.well-known/jwks.json`` is."""
