"""Inputs of AG-UI runs."""

from __future__ import annotations

import uuid
from typing import Any

from tests.unit.api.served import Served


def run_input(served: Served, **fields: Any) -> dict[str, Any]:
    """AG-UI's, with one message."""
    message = {"id": "m1", "role": "user", "content": "Hello"}
    body = {"threadId": served.harness.thread_id, "runId": str(uuid.uuid4()), "messages": [message]}
    return body | {"state": {}, "tools": [], "context": [], "forwardedProps": {}} | fields
