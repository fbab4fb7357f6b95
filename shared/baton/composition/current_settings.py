"""The settings that may change while a process runs: the settings document, with the environment's variables."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from baton.composition import parts
from baton.domain.errors import BatonError

if TYPE_CHECKING:
    from collections.abc import Callable


class CurrentSettings:
    """The settings that hold now. A use case reads each property when it needs it, and never keeps it."""

    def __init__(
        self, read: Callable[[], parts.SettingsDocument], *, is_local: bool, must_read: Callable[[], bool] = bool
    ) -> None:
        """``read`` returns the document, or raises ``BatonError``; it blocks if ``must_read()``.

        ``is_local``: this machine may be called too.
        """
        self._read = read
        self._must_read = must_read
        self._is_local = is_local
        self._merged: tuple[parts.SettingsDocument, parts.SettingsDocument] | None = None

    def prepare(self) -> None:
        """Read the document in advance, for the first request. That one reports a failure."""
        with suppress(BatonError):
            _ = self.document

    async def load(self) -> None:
        """Read the document in a thread if its next use would block the event loop. That one reports a failure."""
        if self._must_read():
            import asyncio

            await asyncio.to_thread(self.prepare)

    @property
    def document(self) -> parts.SettingsDocument:
        """The document, in which variables of the environment have replaced fields."""
        read = self._read()
        if self._merged is None or self._merged[0] is not read:
            self._merged = (read, parts.with_variables(read))
        return self._merged[1]

    @property
    def issuers(self) -> tuple[parts.OidcIssuer, ...]:
        """The issuers whose tokens are accepted."""
        return self.document.token_issuers

    @property
    def listed_issuers(self) -> tuple[str, ...]:
        """The names of the issuers that may be published."""
        return tuple(issuer.issuer for issuer in self.issuers if issuer.listed)

    @property
    def prices(self) -> parts.Prices:
        """The prices of models."""
        return self.document.prices

    @property
    def limits(self) -> parts.DeploymentLimits:
        """The limits of every tenant."""
        return self.document.tenant_limits

    def known_origins(self) -> tuple[str, ...]:
        """Return the origins of web pages that may call the API; none while there are no settings."""
        try:
            return self.document.allowed_origins
        except BatonError:
            return ()  # the request itself reports the outage, to a client that may read it

    @property
    def egress(self) -> parts.EgressPolicy:
        """The hosts of tools, remote agents and sources of documents that may be called."""
        return self._policy(self.document.allowed_hosts)

    @property
    def push_egress(self) -> parts.EgressPolicy:
        """The hosts that clients may be notified at."""
        return self._policy(self.document.push_hosts)

    @property
    def webhooks(self) -> parts.WebhookSettings:
        """The receivers of events."""
        return parts.WebhookSettings(self.document.webhooks)

    @property
    def hooks(self) -> parts.HookSettings:
        """The hooks by which other systems send events."""
        return parts.HookSettings(self.document.hooks)

    @property
    def pushes(self) -> bool:
        """True if clients may be notified. In the local cloud, receivers on the same machine always may."""
        return bool(self.document.push_hosts) or self._is_local

    def _policy(self, hosts: tuple[str, ...]) -> parts.EgressPolicy:
        return parts.EgressPolicy.of(hosts, allow_local=self._is_local)


def deployed_settings() -> CurrentSettings:
    """Return the settings of a deployment. The document is read when one of them is first needed."""
    document = parts.DocumentSettings()
    if document.bucket is None:
        return environment_settings()
    stored = stored_document(document.bucket, document.seconds)
    return CurrentSettings(stored.get, is_local=document.is_local, must_read=stored.must_read)


def environment_settings() -> CurrentSettings:
    """Return the settings of the environment's variables alone, without a document."""
    defaults = parts.SettingsDocument()
    return CurrentSettings(lambda: defaults, is_local=parts.DocumentSettings().is_local)


def stored_document(bucket: str, seconds: float) -> parts.RefreshedValue[parts.SettingsDocument]:
    """Return the document of a bucket, cached for ``seconds``."""
    stored = parts.S3Settings(
        partial(parts.quick_client, "s3"),
        bucket,
        parts.read_document,
        parts.SettingsDocument(),
        max_bytes=parts.MAX_SETTINGS_BYTES,
    )
    return parts.RefreshedValue(stored.read, seconds=seconds)
