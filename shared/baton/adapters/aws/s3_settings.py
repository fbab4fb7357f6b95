"""The settings document in S3."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from baton.domain.errors import InternalError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

T = TypeVar("T")
SETTINGS_KEY = "~settings/settings.json"
"""The key of the object. Ids of tenants do not begin with ``~``, so it belongs to no tenant. The bucket's policy lets
no function write below ``~settings/``."""

_log = logging.getLogger(__name__)


class S3Settings(Generic[T]):
    """The settings document of one bucket. An unchanged document is neither sent nor parsed again.

    ``connect`` creates the client for the first read, so that a process that needs no settings never loads boto3.
    ``parse`` raises ``ValueError`` for an invalid document. Of a document that is longer than ``max_bytes`` it gets one
    byte more than these, and must refuse it. ``absent`` is the value if there is no document and this process has never
    read one. Only one thread at a time may read.
    """

    def __init__(
        self, connect: Callable[[], S3Client], bucket: str, parse: Callable[[bytes], T], absent: T, *, max_bytes: int
    ) -> None:
        self._connect = connect
        self._bucket = bucket
        self._parse = parse
        self._absent = absent
        self._max_bytes = max_bytes
        self._client: S3Client | None = None
        self._latest: tuple[str, T] | None = None

    def read(self) -> T:
        """Return the parsed document.

        Raises ``StoreUnavailable`` in an outage, and ``InternalError`` if the document cannot be read or is invalid.
        """
        from botocore.exceptions import ClientError

        from baton.adapters.aws import blocking_calls as aws

        if self._client is None:
            self._client = self._connect()
        condition: Any = {"IfNoneMatch": self._latest[0]} if self._latest is not None else {}
        try:
            with aws.convert_outages():
                answer = self._client.get_object(Bucket=self._bucket, Key=SETTINGS_KEY, **condition)
                with answer["Body"] as body:
                    text = body.read(self._max_bytes + 1)
        except ClientError as error:
            code = aws.error_code(error)
            if code in ("304", "NotModified") and self._latest is not None:
                return self._latest[1]
            # A document that disappears must not reset a running process to the defaults.
            if code == "NoSuchKey" and self._latest is None:
                _log.info("There is no settings document, so the defaults hold. `baton settings` stores one.")
                return self._absent
            raise InternalError(f"s3://{self._bucket}/{SETTINGS_KEY} cannot be read: {code}.") from error
        try:
            parsed = self._parse(text)
        except ValueError as error:
            version = answer.get("VersionId", "")
            raise InternalError(
                f"s3://{self._bucket}/{SETTINGS_KEY} (version {version}) cannot be used: {error}"
            ) from error
        self._latest = (answer["ETag"], parsed)
        return parsed
