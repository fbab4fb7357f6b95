"""Record the calls of functions, which ``make test`` evaluates with the roles afterwards."""

from __future__ import annotations

import json
import os
import re
import threading
import uuid
from pathlib import Path
from typing import Any

from baton_local.roles.requests import Request

_ID = re.compile(r"[0-9A-Za-z_-]*[0-9][0-9A-Za-z_=-]*")


class Recorder:
    """A record of each kind of call, written immediately because a process may be killed at any moment.

    Calls are of one kind if the same function calls the same action on resources that differ in ids only. The first
    call of a kind is written.
    """

    def __init__(self, folder: Path, template: Path) -> None:
        """``folder`` gets a file of JSON lines for each process. ``template`` declares the roles."""
        self._file = folder / f"{os.getpid()}-{uuid.uuid4().hex[:8]}.jsonl"
        self._template = str(template)
        self._kinds: set[str] = set()
        self._lock = threading.Lock()

    def note(self, function: str, role: str, request: Request) -> None:
        """Record the call, unless one of its kind is recorded already."""
        call: dict[str, Any] = {
            "template": self._template,
            "function": function,
            "role": role,
            "action": request.action,
            "resource": request.resource,
            "context": request.context,
        }
        kind = _ID.sub("#", json.dumps(call, sort_keys=True))
        with self._lock:
            if kind in self._kinds:
                return
            self._kinds.add(kind)
            with self._file.open("a") as lines:
                lines.write(json.dumps(call) + "\n")
