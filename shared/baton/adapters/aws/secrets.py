"""Secrets in AWS Secrets Manager and in the Systems Manager Parameter Store."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cachetools import LRUCache

from baton.adapters.cached_value import CachedValue
from baton.domain.errors import InternalError, NotFound

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

    SSMClient = Any

MAX_SECRETS = 1_000
"""Secrets that are cached. The one used longest ago is read again first."""

C = TypeVar("C")


class CachedSecrets(ABC, Generic[C]):
    """Secrets of one service, cached for all threads of this process (``adapters.cached_value``).

    ``connect`` creates the service's client for the first secret, so that a process without secrets never loads boto3.
    """

    def __init__(self, connect: Callable[[], C], *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._connect = connect
        self._monotonic = monotonic
        self._client: C | None = None
        self._lock = threading.Lock()
        self._cached: LRUCache[str, CachedValue[str]] = LRUCache(MAX_SECRETS)

    def get(self, name: str) -> str:
        """Return the value, at most 300 s old."""
        return self._of(name).get()

    def renewed(self, name: str) -> str:
        """Return the value, at most 30 s old."""
        return self._of(name).renewed()

    def _of(self, name: str) -> CachedValue[str]:
        with self._lock:
            cached = self._cached.get(name)
            if cached is None:
                cached = self._cached[name] = CachedValue(partial(self._read, name), monotonic=self._monotonic)
            return cached

    @abstractmethod
    def _read(self, name: str) -> str:
        """Read the value from the service. Raises the errors of ``Secrets``."""

    def _connected(self) -> C:
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            return self._client


class SecretsManager(CachedSecrets["SecretsManagerClient"]):
    """Secrets of Secrets Manager."""

    def __init__(
        self,
        connect: Callable[[], SecretsManagerClient] | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(connect or partial(hasty_client, "secretsmanager"), monotonic=monotonic)

    def _read(self, name: str) -> str:
        from botocore.exceptions import ClientError

        from baton.adapters.aws import blocking_calls as aws

        try:
            with aws.outages():
                answer = self._connected().get_secret_value(SecretId=name)
        except ClientError as error:
            # Secrets Manager also reports "not found" for a secret without a value.
            if aws.error_code(error) == "ResourceNotFoundException":
                raise NotFound(f"The secret {name} has no value.") from error
            raise InternalError(f"The secret {name} cannot be read: {aws.error_code(error)}.") from error
        if "SecretString" not in answer:
            raise NotFound(f"The secret {name} holds no text.")
        return answer["SecretString"]


class ParameterStore(CachedSecrets["SSMClient"]):
    """Parameters of the Systems Manager Parameter Store, decrypted, by their full names."""

    def __init__(
        self, connect: Callable[[], SSMClient] | None = None, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(connect or partial(hasty_client, "ssm"), monotonic=monotonic)

    def _read(self, name: str) -> str:
        from botocore.exceptions import ClientError

        from baton.adapters.aws import blocking_calls as aws

        try:
            with aws.outages():
                answer = self._connected().get_parameter(Name=name, WithDecryption=True)
        except ClientError as error:
            if aws.error_code(error) in ("ParameterNotFound", "ParameterVersionNotFound"):
                raise NotFound(f"The parameter {name} does not exist.") from error
            raise InternalError(f"The parameter {name} cannot be read: {aws.error_code(error)}.") from error
        return str(answer["Parameter"]["Value"])


def hasty_client(service: str) -> Any:
    """Return a boto3 client that gives up after some seconds."""
    from botocore.config import Config

    from baton.adapters.aws import blocking_calls as aws

    # Requests wait for the secret, so fail soon and use the cached value.
    hasty = Config(read_timeout=3, retries={"mode": "standard", "total_max_attempts": 2})
    return aws.client(service, config=hasty)
