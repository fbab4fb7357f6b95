"""Agents of a shop with two desks, for a local cloud."""

from __future__ import annotations

from pathlib import Path

PERMISSIONS = ("desk:answer", "desk:support", "pii:read")
"""The permissions of a person who answers at both desks."""
FILES = {
    "assistant.yaml": """\
id: assistant
name: Assistant
description: Helps customers of the shop.
main: true
system_prompt: You help customers of a shop.
handoffs: [{to: support}, {to: billing}]
""",
    "support.yaml": """\
id: support
kind: desk
name: Support team
description: People who decide about refunds and complaints.
triggers: ["talk to a human"]
desk: {permission: "desk:support"}
""",
    "billing.yaml": """\
id: billing
kind: desk
name: Billing
description: People who know invoices.
""",
}


def write_desks(folder: Path) -> Path:
    """Write the agents' files into ``folder``, and return it."""
    for name, content in FILES.items():
        (folder / name).write_text(content)
    return folder
