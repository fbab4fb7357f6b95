"""Last wills: requests to AWS that a supervisor sends for this process if it dies.

A queue record is made visible, and a lease is ended, at once instead of after the time for which the dead process had
taken them. MQTT has the same under this name (https://docs.oasis-open.org/mqtt/mqtt/v5.0/mqtt-v5.0.html, 3.1.2.5).

The wills are in memory that the supervisor has created and this process has inherited (``supervisor.py``), in
slots of ``SLOT_BYTES``. One write fills or empties a slot, so that the process can die at any time.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Protocol

FILE_VARIABLE = "LAST_WILLS_FILE"
"""The environment variable with the number of the file descriptor. It is not set without a supervisor.

It does not begin with ``BATON_``, because the local cloud passes such variables only if the template has them."""
SLOT_BYTES = 4_096
MAX_SLOTS = 256
"""The maximum number of wills. Further ones are not written, so what they would release is held until its timeout."""


class Preparing(Protocol):
    """Operations of an AWS service that can prepare a request without sending it."""

    def prepare(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parts of a request as a JSON object, without its signature (``AwsSignature``)."""


class LastWills:
    """The last wills of this process."""

    def __init__(self, file: int | None) -> None:
        """``file`` is a descriptor of the supervisor's memory; None if there is no supervisor."""
        self._file = file
        self._slots: dict[str, int] = {}
        self._lock = threading.Lock()  # several functions share a process in the local cloud
        if file is not None:
            os.set_inheritable(file, False)  # noqa: FBT003 - programs that this process starts write no wills

    def write(self, name: str, operations: object, operation: str, request: Mapping[str, Any]) -> None:
        """Have the request sent if this process dies before ``revoke(name)``.

        ``operations`` are the operations of the request's service. Nothing is written without a supervisor, if
        ``operations`` cannot prepare requests, if the request is too long, if no slot is free, and if there is already
        a will with this name.
        """
        prepare = getattr(operations, "prepare", None)
        if self._file is None or prepare is None:
            return
        line = json.dumps(prepare(operation, request)).encode()
        with self._lock:
            slot = next(slot for slot in range(MAX_SLOTS + 1) if slot not in self._slots.values())
            if slot < MAX_SLOTS and len(line) < SLOT_BYTES and name not in self._slots:
                self._slots[name] = slot
                self._fill(slot, line)

    def revoke(self, name: str) -> None:
        """Delete the will with this name if it exists."""
        with self._lock:
            slot = self._slots.pop(name, None)
            if slot is not None:
                self._fill(slot, b"")

    @contextmanager
    def hold(self, name: str, operations: object, operation: str, request: Mapping[str, Any]) -> Iterator[None]:
        """Have the request sent if this process dies within the block. See ``write``."""
        self.write(name, operations, operation, request)
        try:
            yield
        finally:
            self.revoke(name)

    def _fill(self, slot: int, line: bytes) -> None:
        assert self._file is not None  # noqa: S101 - without one there are no slots
        os.pwrite(self._file, line.ljust(SLOT_BYTES - 1) + b"\n", slot * SLOT_BYTES)


NO_WILLS = LastWills(None)
"""The wills of a process without a supervisor."""


@cache
def get_own_last_wills() -> LastWills:
    """Return the wills of this process, in the memory that its environment names."""
    file = os.environ.get(FILE_VARIABLE)
    return LastWills(int(file) if file is not None else None)
