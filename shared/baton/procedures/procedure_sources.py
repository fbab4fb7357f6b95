"""What a captured procedure was made of: the messages and calls of the task, for those who decide on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from baton.domain.capture import MAX_MESSAGES
from baton.domain.errors import ThreadUnavailable
from baton.domain.identity import Permission, Scope
from baton.domain.message import Role, StoredMessage
from baton.domain.procedure import ProcedureSource
from baton.domain.thread import Thread
from baton.domain.tool_call import ToolCall, is_shown
from baton.memory.message_range import messages_between
from baton.ports.audit import AuditLog
from baton.ports.thread_store import ThreadStore
from baton.privacy.readers import Readers, sees_all

MAX_TEXT = 10_000
"""Characters of one message or of one call's arguments. Of a longer text, the beginning is shown."""
READ = "procedure.source"


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """One message of the task, with the calls that it makes."""

    message: StoredMessage
    text: str
    tool_calls: tuple[ToolCall, ...]
    is_cut: bool
    """Whether a text was longer than ``MAX_TEXT``."""


@dataclass(frozen=True, slots=True)
class SourceTurns:
    """The messages of the task, in order."""

    messages: Sequence[SourceMessage]
    missing: int
    """Messages that the version names and that are there no more."""
    is_redacted: bool


NOTHING = SourceTurns((), 0, is_redacted=False)


@dataclass(frozen=True, slots=True)
class ProcedureSources:
    """Reads what procedures were made of.

    Whoever decides on a procedure may read the task that it was made of, and nothing else of the conversation: not what
    came before or after. Personal data of others is shown to holders of ``pii:read`` only.
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
        found = await self._messages(reader, thread, source.message_ids)
        missing = len(set(source.message_ids) - {each.id for each in found})
        # Whole texts are redacted: what is cut might end in the middle of a value.
        shown = await self.readers.shown(scope, thread.user_id, [_shown(each) for each in found])
        return SourceTurns([_cut(each) for each in shown], missing, not sees_all(scope, thread.user_id))

    async def _messages(self, scope: Scope, thread: Thread, named: Sequence[str]) -> Sequence[StoredMessage]:
        """Return the named messages and the calls between the first and the last of them."""
        last = await self.store.find_message(scope, thread, named[-1])
        if last is None:
            return []
        end = last.ordinal + 1
        first = max(0, end - MAX_MESSAGES)
        branch = thread.continued_from(last.ordinal)
        messages = await messages_between(self.store, scope, branch, first, end)
        wanted = set(named)
        start = next((place for place, each in enumerate(messages) if each.id in wanted), len(messages))
        return [each for each in messages[start:] if each.id in wanted or _is_a_call(each)]


def _is_a_call(message: StoredMessage) -> bool:
    if message.role is Role.TOOL:
        return message.tool_name is not None and is_shown(message.tool_name)
    return not message.is_said and any(is_shown(call.name) for call in message.tool_calls)


def _shown(message: StoredMessage) -> SourceMessage:
    calls = tuple(call for call in message.tool_calls if is_shown(call.name))
    return SourceMessage(message, message.text, calls, is_cut=False)


def _cut(shown: SourceMessage) -> SourceMessage:
    texts = [shown.text, *(call.arguments for call in shown.tool_calls)]
    if all(len(text) <= MAX_TEXT for text in texts):
        return shown
    calls = tuple(replace(call, arguments=call.arguments[:MAX_TEXT]) for call in shown.tool_calls)
    return replace(shown, text=shown.text[:MAX_TEXT], tool_calls=calls, is_cut=True)
