"""Baton's extension of A2A: which conversation, person and run a message belongs to.

An A2A message's ``metadata`` carries them under the extension's URI, as extensions do, and once more as plain keys for
agents that know nothing of extensions.
"""

from __future__ import annotations

from typing import Any

from baton.ports.agent_client import AgentTask

EXTENSION_URI = "https://baton.dev/a2a/extensions/conversation/v1"


def conversation_metadata(task: AgentTask) -> dict[str, Any]:
    """The metadata of the message that asks for ``task``; keys in snake case, as everywhere in A2A's metadata."""
    conversation = {
        "thread_id": task.thread_id,
        "tenant_id": task.scope.tenant_id,
        "user_id": task.scope.user_id,
        "parent_task_id": task.parent_task_id,
    }
    return {**conversation, EXTENSION_URI: conversation}
