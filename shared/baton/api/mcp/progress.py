"""What a client is told while an agent works, as messages of progress notifications."""

from __future__ import annotations

from typing import Any

from baton.domain.events import Event

MAX_CHARS = 300


def told(event: Event) -> str | None:
    """Return the sentence for an event; None for events that are no step of the work."""
    body = event.body
    match event.type:
        case "TEXT_MESSAGE_START":
            text = f"{body.get('name') or 'The agent'} is answering."
        case "TOOL_CALL_START":
            text = f"Using {body.get('toolCallName')}."
        case "STEP_STARTED":
            text = f"Step: {body.get('stepName')}."
        case "ACTIVITY_SNAPSHOT":
            text = _label(body.get("content"))
        case _:
            return None
    return text[:MAX_CHARS] or None


def _label(content: Any) -> str:
    label = content.get("label") if isinstance(content, dict) else None
    return label if isinstance(label, str) else ""
