"""Build the A2A message of a task: the conversation's metadata, files and text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from a2a.types import Message, Part, Role, SendMessageRequest

from baton.adapters.a2a.extension import conversation_metadata
from baton.adapters.a2a.parts import accepts, data_part
from baton.domain.handoffs.handoff import ContextMode
from baton.domain.threads.a2a_task import EXTENSION_URI
from baton.ports.agents.agent_client import AgentTask, Attachment, HandedOver

SUMMARY = "The conversation was handed over to you. About it so far: {summary}"
MESSAGES = "The conversation was handed over to you. What was said in it last:"
CONTEXT = {EXTENSION_URI: {"context": True}}
"""Metadata of text parts that are not the user's: the handoff's metadata in words, and files that are missing."""


JSON = "application/json"
NOT_TAKEN = "[The file {name} was not passed on: you take no {kind}.]"


def sendable(task: AgentTask, modes: Sequence[str]) -> tuple[AgentTask, Sequence[Attachment]]:
    """Return the task with what the agent takes, by the input ``modes`` of its card, and the files that it does not.

    Structured data becomes text for an agent that takes no JSON, and where A2A cannot carry it as data.
    """
    refused = [attachment for attachment in task.attachments if not accepts(modes, attachment.media_type)]
    words = [task.message] if task.message else []
    data = task.data
    if data is not None:
        try:
            data_part(data)
        except ValueError:
            words, data = [*words, json.dumps(data)], None  # in ASCII: half of a surrogate pair is not text
        else:
            if not accepts(modes, JSON):
                words, data = [*words, json.dumps(data, ensure_ascii=False)], None
    taken = tuple(attachment for attachment in task.attachments if attachment not in refused)
    return replace(task, message="\n".join(words), attachments=taken, data=data), refused


def outgoing(task: AgentTask, missing: Sequence[Attachment] = ()) -> SendMessageRequest:
    """Return the request that sends ``task``'s message. Its last text part is the message itself.

    The request names the ``missing`` files.
    """
    message = Message(
        message_id=task.task_id,
        context_id=task.thread_id,
        task_id=task.remote_task_id or "",
        role=Role.ROLE_USER,
        parts=_parts(task, missing),
        extensions=[EXTENSION_URI],
        metadata=conversation_metadata(task),
    )
    return SendMessageRequest(message=message)


def _parts(task: AgentTask, missing: Sequence[Attachment]) -> Iterator[Part]:
    context = _context(task.handoff, task.message) if task.handoff is not None else ""
    if context:
        yield Part(text=context, metadata=CONTEXT)
    for lacking in missing:
        kind = lacking.media_type or "files of an unknown type"
        yield Part(text=NOT_TAKEN.format(name=lacking.name or "without a name", kind=kind), metadata=CONTEXT)
    for attachment in task.attachments:
        name, media_type = attachment.name or "", attachment.media_type or ""
        if attachment.data is not None:
            yield Part(raw=attachment.data, filename=name, media_type=media_type)
        else:
            yield Part(url=attachment.url or "", filename=name, media_type=media_type)
    if task.data is not None:
        yield data_part(task.data)
    if task.message:
        yield Part(text=task.message)


def _context(handed: HandedOver, message: str) -> str:
    """Return the granted context of the handoff as text, because most agents ignore metadata."""
    if handed.request.context_mode is ContextMode.SUMMARY:
        summary = handed.request.context_summary.strip()
        return SUMMARY.format(summary=summary) if summary and summary != message.strip() else ""
    lines = [f"{role}: {text}" for role, text in handed.recent_messages]
    return "\n".join([MESSAGES, *lines]) if lines else ""
