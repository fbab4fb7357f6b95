"""The API, called to run turns again."""

from __future__ import annotations

from enum import Enum
from typing import Any

import httpx

from tests.fakes.ports import FAKED
from tests.unit.api.served import Served

INSPECT = "context:inspect"


UNWATCHED = {
    "clock",
    "model",
    "audit",
    "embedder",
    "counter",
    "verifier",
    "pii_detector",
    "shipped_agents",
    "signing_key",
}
"""Ports without stored state, and the audit, which gets one record."""
MODULES = ("tests", "baton", "baton_testing", "collections")
"""The packages whose objects have state."""


class Rerunning(Served):
    """Ada's conversation, and the user who runs its turns again."""

    async def rerun(self, message_id: str = "m1", *permissions: str, user: str = "ada", **body: Any) -> httpx.Response:
        harness = self.harness
        run_id = harness.request(message_id).run_id
        path = f"/threads/{harness.thread_id}/turns/{run_id}/rerun"
        return await self.post(path, body, *(permissions or (INSPECT,)), user=user)

    async def rerun_successfully(self, message_id: str = "m1", **body: Any) -> dict[str, Any]:
        answer = await self.rerun(message_id, **body)
        assert answer.status_code == 200, answer.text
        results: dict[str, Any] = answer.json()
        return results

    def read_stored_state(self) -> str:
        """Return the state of all ports as text."""
        ports = {name: value for name, value in vars(self.harness).items() if name in {*FAKED} - UNWATCHED}
        return "\n".join(f"{name}: {_list_state(port)}" for name, port in ports.items())


def _list_state(value: Any, depth: int = 0) -> str:
    """Return all of a fake's state. Locks and functions have none."""
    if value is None or isinstance(value, str | bytes | int | float | Enum) or depth > 12:
        return repr(value)
    if type(value).__name__ == "FakeAuditLog":
        return "the audit, which gets one record"
    if isinstance(value, dict):
        return "; ".join(f"{key!r}: {_list_state(item, depth + 1)}" for key, item in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return str([_list_state(item, depth + 1) for item in value])
    if callable(value) or type(value).__module__.partition(".")[0] not in MODULES:
        return str(value) if type(value).__module__ == "datetime" else type(value).__name__
    names = (
        [name for name in vars(value) if not name.endswith(("_read", "reads"))]
        if hasattr(value, "__dict__")
        else [*value.__slots__]
    )
    fields = (f"{name}={_list_state(getattr(value, name), depth + 1)}" for name in names)
    return f"{type(value).__name__}({', '.join(fields)})"
