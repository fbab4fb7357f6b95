"""Messages of Baton as the channel reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from baton_client import APIConnectionError, AsyncRunStream

Json = dict[str, Any]

SENT_FROM_SLACK = "slack-"
"""The beginning of the ids of messages that were written in Slack, where they need not be shown again."""


async def begin(stream: AsyncRunStream) -> None:
    """Wait until a run has begun, and leave it: the message is stored by then, and the answer arrives as an event.

    Raises ``APIStatusError`` if the run is refused, and ``APIConnectionError`` if it may not have begun.
    """
    async with stream:
        async for _ in stream:
            return
    raise APIConnectionError("The stream has ended before its run began.")


def make_message_id(channel: str, ts: str) -> str:
    """Return the id in Baton of a message of Slack, so that a repeated event sends the same message."""
    return f"{SENT_FROM_SLACK}{channel}-{ts}"


def is_from_slack(message: Json) -> bool:
    """Return whether a message was written in Slack."""
    return str(message.get("id") or "").startswith(SENT_FROM_SLACK)


def get_text(message: Json) -> str:
    """Return the text of a message, without its files."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if part.get("type") == "text")


def list_files(message: Json) -> Iterator[Json]:
    """Yield the files of a message: ``name``, and ``url``, which is None if the API has given none.

    The files of a person's message are in its metadata.
    """
    content = message.get("content")
    attachments = (message.get("metadata") or {}).get("attachments") or []
    for part in [*(content if isinstance(content, list) else []), *attachments]:
        if part.get("type") != "text":
            metadata = part.get("metadata") or {}
            yield {"name": metadata.get("name") or "file", "url": metadata.get("downloadUrl")}


def write_named_text(message: Json) -> str:
    """Return the text of a message, with the names of its files."""
    return "\n".join([get_text(message), *(f"[{file['name']}]" for file in list_files(message))]).strip()


def find_person(message: Json) -> Json | None:
    """Return the person who has written a message at a desk; None for any other message."""
    author = (message.get("metadata") or {}).get("author")
    return author if isinstance(author, dict) and author.get("kind") == "person" else None
