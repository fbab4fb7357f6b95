"""The AWS session of this process: its credentials and region, and the clients that it makes.

The session is botocore's, not boto3's. boto3 would load its file transfers and resources, which nothing here uses, and
register them with the session permanently. A second boto3 session could then make no S3 client.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol

import botocore.session

if TYPE_CHECKING:
    from botocore.session import Session


class CredentialSource(Protocol):
    """A source of credentials, such as a session of botocore or boto3."""

    def get_credentials(self) -> Any:
        """Return the credentials; None if there are none. Blocks."""


_lock = threading.RLock()
_sessions: list[Session] = []


def get_own_session() -> Session:
    """Return the session of this process, with the credentials of the function."""
    with _lock:
        if not _sessions:
            _sessions.append(botocore.session.Session())
        return _sessions[0]


def get_own_region() -> str | None:
    """Return the function's region; None if none is configured."""
    region: str | None = get_own_session().get_config_variable("region")
    return region


def replace_session(session: Session | None) -> Session | None:
    """Make clients with ``session`` from now on; None for a new session. Return the previous session, if there was one.

    Only the local cloud and tests call this.
    """
    with _lock:
        previous = _sessions[0] if _sessions else None
        _sessions[:] = [session] if session is not None else []
        return previous


def make_client(service: str, **options: Any) -> Any:
    """Make a client as ``boto3.client`` does. Thread-safe."""
    with _lock:  # because botocore's sessions are not thread-safe
        return get_own_session().create_client(service, **options)
