"""The calls of ports that a request makes, counted, and the bodies of requests about a conversation."""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass
from typing import Any

from tests.fakes.ports import FAKED
from tests.unit.api.served import Served, list_described_operations

Json = dict[str, Any]
THREAD_BODIES: dict[str, Json] = {
    "fork": {"agentId": "assistant"},
    "continue": {"workflowId": str(uuid.uuid4())},
    "files": {"name": "a.txt", "contentType": "text/plain", "size": 3},
    "sandbox": {"messageId": "m1"},
    "feedback": {"rating": "up"},
    "{thread_id}": {"title": "Mine"},
    "rerun": {},
    "read": {"ordinal": 0},
    "events": {"eventId": "e1", "type": "order.shipped"},
    "messages": {"messageId": "m2", "content": "Hello"},
    "notes": {"messageId": "m2", "text": "Hello"},
    "transfer": {"deskId": "support"},
    "draft": {"kind": "reply"},
}


@dataclass
class Noted:
    """A port that notes which of its methods are called."""

    name: str
    port: Any
    calls: Counter[str]

    def __getattr__(self, name: str) -> Any:
        result = getattr(self.port, name)
        if not callable(result):
            return result

        def call_and_count(*arguments: Any, **named: Any) -> Any:
            self.calls[f"{self.name}.{name}"] += 1
            return result(*arguments, **named)

        return call_and_count


def count_calls(served: Served) -> Counter[str]:
    """Wrap the ports that stand for a store or a service, and return the counter of their calls."""
    calls: Counter[str] = Counter()
    ports = served.harness
    wrapped = {
        name: Noted(name, value, calls)
        for name in FAKED
        if "fakes" in type(value := getattr(ports, name)).__module__ and name not in ("clock", "shipped_agents")
    }
    for name, value in wrapped.items():
        setattr(served.harness, name, value)
    served.__post_init__()
    return calls


def operations_with(parameter: str) -> list[tuple[str, str]]:
    """Return the method and path of each operation whose path has the parameter."""
    return [operation for operation in list_described_operations() if parameter in operation[1]]
