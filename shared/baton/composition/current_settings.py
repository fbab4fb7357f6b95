"""The settings that may change while a process runs: the settings document, combined with environment variables."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from baton.composition import parts
from baton.domain.errors import BatonError

if TYPE_CHECKING:
    from collections.abc import Callable


class CurrentSettings:
    """The current settings. A use case reads a property each time it needs the value, and does not store the value."""

    def __init__(
        self, read: Callable[[], parts.SettingsDocument], *, is_local: bool, must_read: Callable[[], bool] = bool
    ) -> None:
        """``read`` returns the document or raises ``BatonError``. It blocks if ``must_read`` returns True.

        With ``is_local``, servers on this machine may be called too.
        """
        self._read = read
        self._must_read = must_read
        self._is_local = is_local
        self._merged: tuple[parts.SettingsDocument, parts.SettingsDocument] | None = None

    def prepare(self) -> None:
        """Read the document in advance, for the first request, which reports a failure."""
        with suppress(BatonError):
            _ = self.document

    async def load(self) -> None:
        """Read the document in a thread if its next use would block the event loop. The next use reports a failure."""
        if self._must_read():
            import asyncio

            await asyncio.to_thread(self.prepare)

    @property
    def document(self) -> parts.SettingsDocument:
        """The document, with fields replaced by environment variables. Raises ``BatonError`` if it cannot be read."""
        read = self._read()
        if self._merged is None or self._merged[0] is not read:
            self._merged = (read, parts.apply_variables(read))
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

    def list_known_origins(self) -> tuple[str, ...]:
        """Return the origins of web pages that may call the API; none if the settings cannot be read."""
        try:
            return self.document.allowed_origins
        except BatonError:
            return ()  # the handler of the request reports the outage

    @property
    def egress(self) -> parts.EgressPolicy:
        """The hosts of tools, remote agents and sources of documents that may be called."""
        return self._make_policy(self.document.allowed_hosts)

    @property
    def push_egress(self) -> parts.EgressPolicy:
        """The hosts to which push notifications may be sent."""
        return self._make_policy(self.document.push_hosts)

    @property
    def webhooks(self) -> parts.WebhookSettings:
        """The receivers of events."""
        return parts.WebhookSettings(self.document.webhooks)

    @property
    def hooks(self) -> parts.HookSettings:
        """The hooks to which other systems send events."""
        return parts.HookSettings(self.document.hooks)

    @property
    def pushes(self) -> bool:
        """True if push notifications may be sent. In the local cloud, they may always be sent to the same machine."""
        return bool(self.document.push_hosts) or self._is_local

    def _make_policy(self, hosts: tuple[str, ...]) -> parts.EgressPolicy:
        return parts.EgressPolicy.of(hosts, allow_local=self._is_local)


def make_deployed_settings() -> CurrentSettings:
    """Return the settings of a deployment. The document is read when a setting is first needed."""
    document = parts.DocumentSettings()
    if document.bucket is None:
        return make_environment_settings()
    stored = make_stored_document(document.bucket, document.seconds)
    return CurrentSettings(stored.get, is_local=document.is_local, must_read=stored.must_read)


def make_environment_settings() -> CurrentSettings:
    """Return the settings from environment variables only, without a document."""
    defaults = parts.SettingsDocument()
    return CurrentSettings(lambda: defaults, is_local=parts.DocumentSettings().is_local)


def make_stored_document(bucket: str, seconds: float) -> parts.RefreshedValue[parts.SettingsDocument]:
    """Return the cached settings document of a bucket, which is read again after ``seconds``."""
    stored = parts.S3Settings(
        partial(parts.create_quick_client, "s3"),
        bucket,
        parts.read_document,
        parts.SettingsDocument(),
        max_bytes=parts.MAX_SETTINGS_BYTES,
    )
    return parts.RefreshedValue(stored.read, seconds=seconds)
