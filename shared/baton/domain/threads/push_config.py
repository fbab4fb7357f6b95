"""Push notifications of A2A tasks: the receivers that clients configure, and the records in the queue."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

from baton.domain.tenants.identity import MAX_MESSAGE_ID, is_printable
from baton.domain.threads.a2a_task import TaskId
from baton.domain.threads.thread_change import ChangeRecord
from baton.domain.web_url import has_credentials, is_web_url

DEFAULT_ID = "default"
"""The id of a configuration whose client gave none."""
MAX_CONFIGS = 10
"""Configurations of one task."""
MAX_OF_THREAD = 100
"""Configurations of all tasks of a thread. Clients may send one with every message; the oldest are removed."""
MAX_URL = 2_048
MAX_TOKEN = 1_024
MAX_SCHEME = 64
MAX_CREDENTIALS = 4_096
"""The limits of the fields of a configuration, in characters."""
LIFETIME = timedelta(days=90)
"""The time for which a configuration is kept, which is limited because it may contain credentials."""

_SCHEME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token of RFC 9110, section 5.6.2."""


class Line(StrEnum):
    """The version of A2A that a client speaks, in which it gets notifications."""

    OLDER = "0.3"
    CURRENT = "1.0"


@dataclass(frozen=True, slots=True)
class PushConfig:
    """The receiver of one task's notifications."""

    root: str
    """The id of the message that began the task."""
    id: str
    user_id: str
    url: str
    line: Line
    set_at: datetime
    token: str | None = field(default=None, repr=False)
    """The header ``X-A2A-Notification-Token``, by which the receiver verifies the notification."""
    scheme: str | None = None
    """The HTTP authentication scheme of the ``Authorization`` header."""
    credentials: str | None = field(default=None, repr=False)

    @property
    def secrets(self) -> dict[str, str]:
        """The secrets that are sent to the receiver, by name."""
        secrets = {"token": self.token, "credentials": self.credentials}
        return {name: value for name, value in secrets.items() if value is not None}

    @property
    def problem(self) -> str | None:
        """The reason why the configuration is invalid, for its client; None if it is valid."""
        if not is_printable(self.id, MAX_MESSAGE_ID):
            return f"id must be 1 to {MAX_MESSAGE_ID} printable characters."
        if has_credentials(self.url):
            return "url must not contain a user name or password. Use authentication."
        if not self.url.isascii() or not is_web_url(self.url, MAX_URL):
            return f"url must be an absolute https address of at most {MAX_URL} ASCII characters."
        if self.token is not None and not _is_header_value(self.token, MAX_TOKEN):
            return f"token must be 1 to {MAX_TOKEN} printable ASCII characters."
        if self.scheme is not None and not (len(self.scheme) <= MAX_SCHEME and _SCHEME.fullmatch(self.scheme)):
            return "authentication: the scheme must be the name of an HTTP authentication scheme."
        if self.credentials is not None and not _is_header_value(self.credentials, MAX_CREDENTIALS):
            return f"authentication: credentials must be 1 to {MAX_CREDENTIALS} printable ASCII characters."
        return None


def find_displaced(config: PushConfig, others: Sequence[PushConfig]) -> Sequence[PushConfig]:
    """Return the configurations to remove for ``config``: the oldest of other tasks, among the thread's ``others``."""
    elsewhere = sorted((other for other in others if other.root != config.root), key=lambda other: other.set_at)
    return elsewhere[: max(0, len(others) + 1 - MAX_OF_THREAD)]


class PushNotice(ChangeRecord):
    """A queued notification to one configuration. It has no content, which is read when the notification is sent."""

    record: Literal["notice"] = "notice"
    task: str
    """The id of the message that began the task."""
    config_id: str

    @property
    def task_id(self) -> TaskId:
        """The task that the notification is about."""
        return TaskId(self.thread_id, self.task)

    @property
    def group(self) -> str:
        """Its group in the queue, in which it waits for earlier notifications to the same configuration."""
        return f"{self.tenant_id}#{self.thread_id}#{self.task}#{self.config_id}"


def _is_header_value(text: str, longest: int) -> bool:
    return is_printable(text, longest) and text.isascii() and text == text.strip()
