"""The AWS session of this process: its credentials and region, and the clients that it makes.

It is botocore's. boto3's session would load its file transfers and resources, which nothing here uses. It would also
register them with this session permanently, so that a second session of boto3 could make no client of S3.
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


def own_session() -> Session:
    """Return the session of this process, with the credentials of the function."""
    with _lock:
        if not _sessions:
            _sessions.append(botocore.session.Session())
        return _sessions[0]


def own_region() -> str | None:
    """Return the function's region; None if nothing names one."""
    region: str | None = own_session().get_config_variable("region")
    return region


def replace_session(session: Session | None) -> Session | None:
    """Make clients by ``session`` from now on; None for a new one. Return the previous one.

    It is for the local cloud and tests.
    """
    with _lock:
        previous = _sessions[0] if _sessions else None
        _sessions[:] = [session] if session is not None else []
        return previous


def make_client(service: str, **options: Any) -> Any:
    """Make a client as ``boto3.client`` does. Thread-safe."""
    with _lock:  # because botocore's sessions are not thread-safe
        return own_session().create_client(service, **options)
