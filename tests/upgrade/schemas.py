"""Prints the JSON Schemas of everything that the release on PYTHONPATH stores and sends.

The code of any release runs this file: it uses nothing of Baton but the names below.
"""

import json
import sys
from typing import Any, get_args

from pydantic import TypeAdapter

from baton.adapters.dynamodb import shapes
from baton.domain.agents.agent import AgentDefinition
from baton.domain.memory.episode import EpisodeStatus
from baton.domain.schedules.due_entry import DueEntry
from baton.domain.threads.push_config import PushNotice
from baton.domain.threads.queued import Queued
from baton.domain.threads.thread import EndReason, RunStatus, ThreadStatus
from baton.domain.threads.thread_change import ThreadChange
from baton.domain.threads.webhook_delivery import WebhookDelivery
from baton.settings.document import SettingsDocument

ATTRIBUTES = (ThreadStatus, RunStatus, EndReason, EpisodeStatus)
"""Enumerations whose values are attributes of items."""
DOCUMENTS = (AgentDefinition, SettingsDocument)
"""Documents that readers check field by field: agents of tenants, and the settings document."""
RECORDS = (ThreadChange, PushNotice, WebhookDelivery, DueEntry, *get_args(Queued))
"""Records of queues."""


def describe() -> dict[str, Any]:
    """Return the schemas by the names of what is stored."""
    packed = {name: shape for name, shape in vars(shapes).items() if isinstance(shape, shapes.Shape)}
    described = {f"body of {name}": shape._adapter.json_schema() for name, shape in packed.items()}
    for kind in (*ATTRIBUTES, *RECORDS, *DOCUMENTS):
        described[kind.__name__] = TypeAdapter(kind).json_schema()
    return {name: _strip(schema) for name, schema in sorted(described.items())}


def _strip(value: Any) -> Any:
    """Return a schema without its words."""
    match value:
        case dict():
            return {
                name: {member: _strip(schema) for member, schema in part.items()}
                if name in ("properties", "$defs")
                else _strip(part)
                for name, part in value.items()
                if name not in ("title", "description")
            }
        case list():
            return [_strip(part) for part in value]
    return value


if __name__ == "__main__":
    json.dump(describe(), sys.stdout, sort_keys=True, separators=(",", ":"))
