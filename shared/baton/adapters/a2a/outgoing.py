"""Build the A2A message of a task: the conversation's metadata, files and text."""

from __future__ import annotations

from collections.abc import Iterator

from a2a.types import Message, Part, Role, SendMessageRequest

from baton.adapters.a2a.extension import conversation_metadata
from baton.domain.a2a_task import EXTENSION_URI
from baton.domain.handoff import ContextMode
from baton.ports.agent_client import AgentTask, Attachment, HandedOver

SUMMARY = "The conversation was handed over to you. About it so far: {summary}"
MESSAGES = "The conversation was handed over to you. What was said in it last:"
CONTEXT = {EXTENSION_URI: {"context": True}}
"""Metadata of the text part that repeats the handoff's metadata in words."""


def outgoing(task: AgentTask) -> SendMessageRequest:
    """Return the request that sends ``task``'s message. Its last text part is the message itself."""
    message = Message(
        message_id=task.task_id,
        context_id=task.thread_id,
        task_id=task.remote_task_id or "",
        role=Role.ROLE_USER,
        parts=_parts(task),
        extensions=[EXTENSION_URI],
        metadata=conversation_metadata(task),
    )
    return SendMessageRequest(message=message)


def _parts(task: AgentTask) -> Iterator[Part]:
    context = _context(task.handoff, task.message) if task.handoff is not None else ""
    if context:
        yield Part(text=context, metadata=CONTEXT)
    for attachment in task.attachments:
        yield _file(attachment)
    if task.message:
        yield Part(text=task.message)


def _context(handed: HandedOver, message: str) -> str:
    """Return the granted context of the handoff as text, because most agents ignore metadata."""
    if handed.request.context_mode is ContextMode.SUMMARY:
        summary = handed.request.context_summary.strip()
        return SUMMARY.format(summary=summary) if summary and summary != message.strip() else ""
    said = [f"{role}: {text}" for role, text in handed.recent_messages]
    return "\n".join([MESSAGES, *said]) if said else ""


def _file(attachment: Attachment) -> Part:
    name, media_type = attachment.name or "", attachment.media_type or ""
    if attachment.data is not None:
        return Part(raw=attachment.data, filename=name, media_type=media_type)
    return Part(url=attachment.url or "", filename=name, media_type=media_type)
