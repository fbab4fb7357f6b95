"""Secrets in AWS Secrets Manager and in the Systems Manager Parameter Store."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from cachetools import LRUCache

from baton.adapters.cached_value import CachedValue
from baton.domain.errors import InternalError, NotFound

MAX_SECRETS = 1_000
"""The number of cached secrets. The least recently used one is dropped first."""


class CachedSecrets(ABC):
    """Secrets of one service, cached for all threads of this process (``adapters.cached_value``).

    ``connect`` creates the service's client for the first secret, so that a process without secrets never loads boto3.
    """

    _service: ClassVar[str]
    _noun: ClassVar[str]
    """The service's word for a secret."""
    _missing: ClassVar[tuple[str, ...]]
    """The service's error codes for a missing secret."""
    _missing_detail: ClassVar[str]
    """The end of the sentence about a missing secret, which says what an operator can do."""

    def __init__(
        self, connect: Callable[[], Any] | None = None, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._connect = connect or partial(create_quick_client, self._service)
        self._monotonic = monotonic
        self._client: Any = None
        self._lock = threading.Lock()
        self._cached: LRUCache[str, CachedValue[str]] = LRUCache(MAX_SECRETS)

    def get(self, name: str) -> str:
        """Return the value, at most 300 s old except in an outage. Raises the errors of ``Secrets``."""
        return self._get_cached_value(name).get()

    def renew(self, name: str) -> str:
        """Return the value, at most 30 s old except in an outage. Raises the errors of ``Secrets``."""
        return self._get_cached_value(name).renew()

    def _get_cached_value(self, name: str) -> CachedValue[str]:
        with self._lock:
            cached = self._cached.get(name)
            if cached is None:
                cached = self._cached[name] = CachedValue(partial(self._read, name), monotonic=self._monotonic)
            return cached

    def _read(self, name: str) -> str:
        """Read the value from the service. Raises the errors of ``Secrets``."""
        from botocore.exceptions import ClientError

        from baton.adapters.aws import blocking_calls as aws

        with self._lock:
            if self._client is None:
                self._client = self._connect()
        try:
            with aws.convert_outages():
                value = self._fetch(self._client, name)
        except ClientError as error:
            code = aws.error_code(error)
            if code in self._missing:
                raise NotFound(f"The {self._noun} {name} {self._missing_detail}.") from error
            raise InternalError(f"The {self._noun} {name} cannot be read: {code}.") from error
        if value is None:
            raise NotFound(f"The {self._noun} {name} holds no text.")
        return value

    @abstractmethod
    def _fetch(self, client: Any, name: str) -> str | None:
        """Return the secret's value; None if it is not a text. Raises botocore's errors."""


class SecretsManager(CachedSecrets):
    """Secrets of Secrets Manager."""

    _service = "secretsmanager"
    _noun = "secret"
    _missing = ("ResourceNotFoundException",)  # also for a secret without a value
    _missing_detail = "has no value; a local cloud reads it from secrets.local.yaml"

    def _fetch(self, client: Any, name: str) -> str | None:
        value: str | None = client.get_secret_value(SecretId=name).get("SecretString")
        return value


class ParameterStore(CachedSecrets):
    """Parameters of the Systems Manager Parameter Store, decrypted, by their full names."""

    _service = "ssm"
    _noun = "parameter"
    _missing = ("ParameterNotFound", "ParameterVersionNotFound")
    _missing_detail = "does not exist; a local cloud reads it from secrets.local.yaml"

    def _fetch(self, client: Any, name: str) -> str | None:
        return str(client.get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"])


def create_quick_client(service: str) -> Any:
    """Return a client whose calls take at most nine seconds: two attempts, with a pause of up to a second."""
    from botocore.config import Config

    from baton.adapters.aws import blocking_calls as aws

    # Requests wait for the secret, and a cached value may be used instead.
    config = Config(read_timeout=3, retries={"mode": "standard", "total_max_attempts": 2})
    return aws.create_client(service, config=config)
