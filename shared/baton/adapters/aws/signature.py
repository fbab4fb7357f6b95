"""AWS Signature Version 4 of requests to one host, without a query.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html. botocore's signer parses a
complete request, which takes longer. A test compares the two.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials

ALGORITHM = "AWS4-HMAC-SHA256"
_UNSIGNED = frozenset({"expect", "transfer-encoding", "user-agent", "x-amzn-trace-id"})
"""Headers that are not signed, because proxies may change them."""


class AwsSignature:
    """A signer of requests to one service in one region."""

    def __init__(self, region: str, service: str, endpoint: str) -> None:
        """``endpoint`` is a URL; its host is signed."""
        parts = urlsplit(endpoint)
        is_default_port = parts.port in (None, 443 if parts.scheme == "https" else 80)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        self._host = f"{host}" if is_default_port else f"{host}:{parts.port}"
        self._region = region
        self._service = service
        self._key: tuple[str, str, bytes] = ("", "", b"")
        """The latest secret key, day (``YYYYMMDD``) and signing key, which is derived from both."""

    def sign(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        credentials: ReadOnlyCredentials,
        *,
        now: float | None = None,
    ) -> dict[str, str]:
        """Return ``headers`` and the headers that sign the request.

        ``path`` is percent-encoded, as it is sent. ``now`` is in seconds since 1970; None for the system's clock.
        """
        timestamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
        day = timestamp[:8]
        signed = {"Host": self._host, "X-Amz-Date": timestamp, **headers}
        if credentials.token:
            signed["X-Amz-Security-Token"] = credentials.token
        fields = sorted([(name.lower(), value) for name, value in signed.items() if name.lower() not in _UNSIGNED])
        names = ";".join([name for name, _ in fields])
        lines = "".join([f"{name}:{' '.join(value.split())}\n" for name, value in fields])
        # Services other than S3 sign the path encoded once more.
        canonical_path = path if path == "/" else quote(path, safe="/~")
        canonical = f"{method}\n{canonical_path}\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
        scope = f"{day}/{self._region}/{self._service}/aws4_request"
        text = f"{ALGORITHM}\n{timestamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        key = self._get_signing_key(str(credentials.secret_key), day)
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        credential = f"Credential={credentials.access_key}/{scope}"
        signed["Authorization"] = f"{ALGORITHM} {credential}, SignedHeaders={names}, Signature={signature}"
        return signed

    def _get_signing_key(self, secret: str, day: str) -> bytes:
        """Return the signing key of a secret key and a day."""
        latest_secret, latest_day, key = self._key
        if secret != latest_secret or day != latest_day:
            key = f"AWS4{secret}".encode()
            for part in (day, self._region, self._service, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._key = secret, day, key
        return key
