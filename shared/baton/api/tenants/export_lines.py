"""The lines of an export, each of which is one JSON object."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools import Logger

from baton.api.memory.episode_schemas import ServedEpisode
from baton.api.memory.procedure_schemas import ServedProcedure
from baton.api.schedules.schedule_schemas import ServedSchedule
from baton.api.threads.background import ServedBackgroundTask
from baton.api.threads.message_schemas import Message, ServedFeedback
from baton.api.threads.record_schemas import Handoff, ServedAuditRecord, ServedTask, ServedToolCallRecord
from baton.api.threads.thread_schemas import ServedThread
from baton.api.threads.workflows import CompletedWorkflow
from baton.domain.errors import BatonError, InternalError
from baton.domain.metrics import Metric, count
from baton.domain.runs.usage import Prices
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread_state import Describe, describe_resumable_workflow
from baton.domain.times import convert_to_zone, is_offset, to_iso
from baton.tenants.privacy.export import ExportKind, ExportPiece, Session
from baton.tenants.privacy.readers import Readers

logger = Logger(child=True)

Shapes = Mapping[ExportKind, Callable[[Any], dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class ExportLines:
    """A writer of the text of an export, piece by piece."""

    make_shapes: Callable[[Describe], Shapes]
    """Returns functions by kind of record that return the served form of a record."""
    find_describe: Callable[[ExportPiece], Awaitable[Describe]]
    """Returns the function that finds the definitions of agents in the conversation of a piece."""
    readers: Readers | None
    """Replaces personal data in every piece; None for readers who see all of it."""

    async def write(
        self, first: ExportPiece | None, pieces: AsyncGenerator[ExportPiece], *, with_end: bool
    ) -> AsyncGenerator[str, None]:
        """Yield the text of an export. The line of a session is written message by message, because it may be long.

        The last line says ``end`` if ``with_end``, or ``error`` after a failure.
        """
        try:
            if first is not None:
                yield await self._to_text(first)
                is_first = first.kind is ExportKind.SESSION_BEGIN
                async for piece in pieces:
                    if piece.kind is ExportKind.SESSION_MESSAGE:
                        yield ("" if is_first else ",") + await self._to_text(piece)
                    else:
                        yield await self._to_text(piece)
                    is_first = piece.kind is ExportKind.SESSION_BEGIN
        except Exception as problem:  # noqa: BLE001 - the HTTP status is sent already, so a line reports the error
            yield make_error_line(problem)
        else:
            if with_end:
                yield make_line({"type": "end"})
        finally:
            with contextlib.suppress(Exception):
                await pieces.aclose()

    async def _to_text(self, piece: ExportPiece) -> str:
        match piece.kind:
            case ExportKind.SESSION_BEGIN:
                return f'{_encode(await self._redact(_make_session_begin(piece.value)))[:-1]},"messages":['
            case ExportKind.SESSION_MESSAGE:
                return _encode(await self._redact(_make_session_message(piece)))
            case ExportKind.SESSION_END:
                ended_at = piece.value.ended_at
                return ("]}" if ended_at is None else f'],"endedAt":"{to_iso(ended_at)}"}}') + "\n"
            case ExportKind.CURSOR:
                return make_line({"type": "cursor", "cursor": piece.value})
        shape = self.make_shapes(await self.find_describe(piece))[piece.kind](piece.value)
        mark = {} if piece.is_selected else {"selected": False}
        feedback = {"feedback": ServedFeedback.of(piece.feedback).wire()} if piece.feedback is not None else {}
        served = await self._redact({**shape, **feedback})
        return make_line({"type": piece.kind.value, "threadId": piece.thread_id, **mark, **served})

    async def _redact(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return a piece, redacted for the reader."""
        return value if self.readers is None else await self.readers.redact(value)


def make_record_shapes(describe: Describe, prices: Prices, tenant_id: str) -> Shapes:
    """Return, by kind of record, the function that returns a record's served form, as in the API's other routes."""
    return {
        ExportKind.THREAD: lambda thread: {
            **ServedThread.from_record(describe, prices, thread).wire(),
            **({"toolState": thread.conversation.data} if thread.conversation.data else {}),
        },
        ExportKind.MESSAGE: lambda message: Message.from_record(message).wire(),
        ExportKind.TOOL_CALL: lambda call: ServedToolCallRecord.of(call).wire(),
        ExportKind.TASK: lambda task: ServedTask.of(task).wire(),
        ExportKind.HANDOFF: lambda handoff: Handoff.of(handoff).wire(),
        ExportKind.WORKFLOW: lambda workflow: {
            **describe_resumable_workflow(describe, workflow).wire(),
            "data": workflow.data,
            **({"proposals": workflow.proposals} if workflow.proposals else {}),
        },
        ExportKind.COMPLETED_WORKFLOW: lambda completed: CompletedWorkflow.from_record(completed).wire(),
        ExportKind.SKILL: lambda skill: ServedProcedure.from_record(skill).wire(),
        ExportKind.SCHEDULE: lambda schedule: ServedSchedule.of(schedule, user_id=None).wire(),
        ExportKind.BACKGROUND: lambda task: {**ServedBackgroundTask.of(task).wire(), "message": task.message},
        ExportKind.TIME_ZONE: lambda zone: {"timeZone": zone.name, "since": to_iso(zone.since)},
        ExportKind.AUDIT: lambda record: ServedAuditRecord.of(record).wire(),
        ExportKind.EPISODE: lambda episode: ServedEpisode.from_record(
            tenant_id, episode.user_id, episode.ref, episode
        ).wire(),
    }


def _make_session_begin(session: Session) -> dict[str, Any]:
    thread = session.thread
    # Each session of a thread is a separate import, so their ids must differ. A repeated import changes nothing.
    session_id = thread.id if session.number == 1 else f"{thread.id}#{session.number}"
    session_id += f".{session.part}" if session.part > 1 else ""
    title = {"title": thread.title} if thread.title is not None else {}
    return {"sessionId": session_id, "agentId": thread.agent_id, **title}


def _make_session_message(piece: ExportPiece) -> dict[str, Any]:
    message: StoredMessage = piece.value
    words = {"id": message.shown_id, "role": message.shown_role, "content": message.text}
    exported: dict[str, Any] = {**words, **_make_time(message)}
    if message.author is not None:
        exported["author"] = {"kind": message.author.kind, "id": message.author.id, "name": message.author.name}
    if message.begun_by is not None:
        exported["source"] = message.begun_by.wire()
    return exported if piece.feedback is None else {**exported, "feedback": ServedFeedback.of(piece.feedback).wire()}


def _make_time(message: StoredMessage) -> dict[str, str]:
    """Return a message's time and the user's time zone. A zone that is an offset becomes part of the time."""
    zone = message.time_zone
    if zone is not None and is_offset(zone):
        return {"timestamp": convert_to_zone(zone, message.timestamp).isoformat(timespec="milliseconds")}
    return {"timestamp": to_iso(message.timestamp), **({"timeZone": zone} if zone is not None else {})}


def make_error_line(problem: Exception) -> str:
    """Return the line of the error that ends an export, after the end of a line that may be cut off.

    An error that is not one of Baton's is logged and counted.
    """
    if not isinstance(problem, BatonError):
        logger.exception("export failed")
        count(Metric.INTERNAL_FAULTS)
    error = problem if isinstance(problem, BatonError) else InternalError()
    return "\n" + make_line({"type": "error", "code": error.code, "detail": error.detail})


def make_line(value: Mapping[str, Any]) -> str:
    """Return one line of an export."""
    return _encode(value) + "\n"


def _encode(value: Mapping[str, Any]) -> str:
    """Return JSON in one line. ``UnbrokenLines`` escapes characters that readers may treat as line ends."""
    return json.dumps(value, ensure_ascii=False, default=str)
