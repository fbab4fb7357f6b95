"""The sources of a captured procedure: the messages and calls of the task, for users who decide on the procedure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from baton.domain.desks.desk_session import Person
from baton.domain.errors import ThreadUnavailable
from baton.domain.memory.capture import MAX_MESSAGES
from baton.domain.memory.procedure import ProcedureSource
from baton.domain.runs.tool_call import CallEnd, ToolCall, is_shown
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.thread import Thread
from baton.memory.prompt.history_reading import read_message_windows
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.threads import ThreadStore
from baton.tenants.privacy.readers import Readers, sees_all

MAX_TEXT = 10_000
"""Characters of one message, or of one call's arguments. A longer text is cut."""
MAX_TEXTS = 500_000
"""Characters of all texts of a source together."""
MAX_READ = 100_000
"""Characters of one text that are read and searched for personal data."""
UNSURE = 300
"""Characters that are dropped at the end of a text cut at ``MAX_READ``, which may end with half a value."""
READ = "procedure.source"
"""The audited action."""


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """One message of the task, with the calls that it makes."""

    id: str
    role: str
    """The role; ``event`` for the cause of a run that began by itself."""
    run_id: str
    agent_id: str | None
    author: Person | None
    """The person of a desk who wrote it."""
    text: str
    tool_calls: tuple[ToolCall, ...]
    tool_call_id: str | None
    tool_name: str | None
    outcome: CallEnd | None
    said_at: datetime
    cut: bool
    """True if a text was cut."""


@dataclass(frozen=True, slots=True)
class SourceTurns:
    """The messages of the task, in order."""

    messages: Sequence[SourceMessage]
    missing: int
    """The number of messages that the version names but that no longer exist."""
    is_redacted: bool


NOTHING = SourceTurns((), 0, is_redacted=False)


@dataclass(frozen=True, slots=True)
class ProcedureSources:
    """The sources of procedures.

    A user who decides on a procedure may read the task from which it was made, but not the rest of the conversation.
    Personal data of others is shown only to holders of ``pii:read``.
    """

    store: ThreadStore
    readers: Readers
    audit: AuditLog

    async def read(self, scope: Scope, source: ProcedureSource | None) -> SourceTurns:
        """Return the messages that a version names, with the calls between them. Reads are audited.

        Raises ``Forbidden`` and ``StoreUnavailable``, and as the detector does.
        """
        scope.require(Permission.PROCEDURE_APPROVE, READ)
        if source is None or not source.message_ids:
            return NOTHING
        reader = replace(scope, permissions=scope.permissions | {Permission.THREAD_READ_ALL})
        try:
            thread = await self.store.get_thread(reader, source.thread_id)
        except ThreadUnavailable:  # forgotten a moment ago
            return replace(NOTHING, missing=len(source.message_ids))
        if thread.user_id != scope.user_id:
            detail = {"userId": thread.user_id}
            await self.audit.record(scope, READ, thread_id=thread.id, outcome="allowed", detail=detail)
        messages = await self._read_messages(reader, thread, source.message_ids)
        missing = len(set(source.message_ids) - {message.id for message in messages})
        redacted = await self.readers.redact_for(scope, thread.user_id, messages)
        return SourceTurns(list(_cut_texts(messages, redacted)), missing, not sees_all(scope, thread.user_id))

    async def _read_messages(self, scope: Scope, thread: Thread, named: Sequence[str]) -> Sequence[SourceMessage]:
        """Return the named messages and the calls between the first and the last of them."""
        last = await self.store.find_message(scope, thread, named[-1])
        if last is None:
            return []
        end = last.ordinal + 1
        branch = thread.continue_from(last.ordinal)
        named_ids, messages = set(named), list[SourceMessage]()
        async for window in read_message_windows(self.store, scope, branch, max(0, end - MAX_MESSAGES), end):
            for message in window:
                if message.id in named_ids or (messages and _belongs_to_call(message)):
                    messages.append(_to_source_message(message))
        return messages


def _belongs_to_call(message: StoredMessage) -> bool:
    if message.role is Role.TOOL:
        return message.tool_name is not None and is_shown(message.tool_name)
    return not message.is_said and any(is_shown(call.name) for call in message.tool_calls)


def _to_source_message(message: StoredMessage) -> SourceMessage:
    calls = [call for call in message.tool_calls if is_shown(call.name)]
    return SourceMessage(
        id=message.id,
        role=message.shown_role,
        run_id=message.run_id,
        agent_id=message.agent_id,
        author=message.author,
        text=message.text[:MAX_READ],
        tool_calls=tuple(replace(call, arguments=call.arguments[:MAX_READ]) for call in calls),
        tool_call_id=message.tool_call_id,
        tool_name=message.tool_name,
        outcome=message.outcome,
        said_at=message.timestamp,
        cut=any(len(text) > MAX_READ for text in (message.text, *(call.arguments for call in calls))),
    )


def _cut_texts(messages: Iterable[SourceMessage], redacted: Iterable[SourceMessage]) -> Iterator[SourceMessage]:
    """Yield redacted messages with their texts cut to ``MAX_TEXT`` each and ``MAX_TEXTS`` together.

    ``messages`` are the same messages before they were redacted: their lengths show which texts were cut.
    """
    room = MAX_TEXTS

    def shorten(text: str, read: str) -> str:
        nonlocal room
        text = (text if len(read) < MAX_READ else text[:-UNSURE])[: min(MAX_TEXT, room)]
        room -= len(text)
        return text

    for original, message in zip(messages, redacted, strict=True):
        text = shorten(message.text, original.text)
        calls = tuple(
            replace(call, arguments=shorten(call.arguments, read.arguments))
            for call, read in zip(message.tool_calls, original.tool_calls, strict=True)
        )
        is_cut = message.cut or (text, calls) != (message.text, message.tool_calls)
        yield replace(message, text=text, tool_calls=calls, cut=is_cut)
