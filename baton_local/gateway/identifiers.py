"""Ids and times in the forms that API Gateway uses."""

import base64
import re
import secrets
import time
import uuid
from datetime import UTC, datetime

CONNECTION_ID = re.compile(r"[A-Za-z0-9_-]{15}=")


def make_request_id() -> str:
    """Return a request id: a UUID."""
    return str(uuid.uuid4())


def make_short_id() -> str:
    """Return an extended request id or message id: 11 random bytes in base64."""
    return base64.urlsafe_b64encode(secrets.token_bytes(11)).decode()


def make_connection_id() -> str:
    """Return a connection id such as ``L0SM9cOFvHcCIhw=``."""
    return make_short_id()


def read_millis() -> int:
    """Return the time as milliseconds since the epoch."""
    return int(time.time() * 1000)


def format_request_time(millis: int) -> str:
    """Return a time, in milliseconds since the epoch, as ``requestTime`` has it: ``09/Apr/2026:12:34:56 +0000``."""
    return datetime.fromtimestamp(millis / 1000, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")


def format_iso_time(millis: int) -> str:
    """Return a time, in milliseconds since the epoch, in ISO 8601."""
    return datetime.fromtimestamp(millis / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
