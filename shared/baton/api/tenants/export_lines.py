"""The lines of an export: one JSON object each."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools import Logger

from baton.api.memory.episode_schemas import ServedEpisode
from baton.api.memory.procedure_schemas import ServedProcedure
from baton.api.threads.message_schemas import Message, ServedFeedback
from baton.api.threads.record_schemas import Handoff, ServedAuditRecord, ServedTask, ServedToolCallRecord
from baton.api.threads.thread_schemas import ServedThread
from baton.api.threads.workflows import CompletedWorkflow
from baton.domain.errors import BatonError, InternalError
from baton.domain.metrics import Metric, count
from baton.domain.runs.usage import Prices
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread_state import Describe, resumable_workflow
from baton.domain.times import is_offset, iso, local_time
from baton.tenants.privacy.export import Exported, ExportKind, Session
from baton.tenants.privacy.readers import Readers

logger = Logger(child=True)

Shapes = Mapping[ExportKind, Callable[[Any], dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class ExportLines:
    """The text of an export, written piece by piece."""

    shapes: Shapes
    """The served form of each kind of record."""
    readers: Readers | None
    """Replaces personal data in every piece; None for readers who see all of it."""

    async def of(
        self, first: Exported | None, pieces: AsyncIterator[Exported], *, with_end: bool
    ) -> AsyncGenerator[str, None]:
        """Yield the text of an export. A session's line is written message by message: it may be long."""
        try:
            if first is not None:
                yield await self._text(first)
                is_first = first.kind is ExportKind.SESSION_BEGIN
                async for piece in pieces:
                    if piece.kind is ExportKind.SESSION_MESSAGE:
                        yield ("" if is_first else ",") + await self._text(piece)
                    else:
                        yield await self._text(piece)
                    is_first = piece.kind is ExportKind.SESSION_BEGIN
        except Exception as problem:  # the status is sent: only a line can still report the error
            if not isinstance(problem, BatonError):
                logger.exception("export failed")
                count(Metric.INTERNAL_FAULTS)
            error = problem if isinstance(problem, BatonError) else InternalError()
            yield "\n" + _line({"type": "error", "code": error.code, "detail": error.detail})
        else:
            if with_end:
                yield _line({"type": "end"})
        finally:
            with contextlib.suppress(Exception):
                await pieces.aclose()  # type: ignore[attr-defined]

    async def _text(self, piece: Exported) -> str:
        match piece.kind:
            case ExportKind.SESSION_BEGIN:
                return f'{_json(await self._shown(_session_begin(piece.value)))[:-1]},"messages":['
            case ExportKind.SESSION_MESSAGE:
                return _json(await self._shown(_session_message(piece)))
            case ExportKind.SESSION_END:
                ended_at = piece.value.ended_at
                return ("]}" if ended_at is None else f'],"endedAt":"{iso(ended_at)}"}}') + "\n"
            case ExportKind.CURSOR:
                return _line({"type": "cursor", "cursor": piece.value})
        shape = self.shapes[piece.kind](piece.value)
        mark = {} if piece.is_selected else {"selected": False}
        rated = {"feedback": ServedFeedback.of(piece.feedback).wire()} if piece.feedback is not None else {}
        served = await self._shown({**shape, **rated})
        return _line({"type": piece.kind.value, "threadId": piece.thread_id, **mark, **served})

    async def _shown(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return a piece as the reader may see it."""
        return value if self.readers is None else await self.readers.redact(value)


def record_shapes(describe: Describe, prices: Prices, tenant_id: str) -> Shapes:
    """Return how each kind of record is shown: as the API's other routes show it."""
    return {
        ExportKind.THREAD: lambda thread: {
            **ServedThread.from_record(describe, prices, thread).wire(),
            **({"toolState": thread.conversation.data} if thread.conversation.data else {}),
        },
        ExportKind.MESSAGE: lambda message: Message.from_record(message).wire(),
        ExportKind.TOOL_CALL: lambda call: ServedToolCallRecord.of(call).wire(),
        ExportKind.TASK: lambda task: ServedTask.of(task).wire(),
        ExportKind.HANDOFF: lambda handoff: Handoff.of(handoff).wire(),
        ExportKind.WORKFLOW: lambda workflow: {**resumable_workflow(describe, workflow).wire(), "data": workflow.data},
        ExportKind.COMPLETED_WORKFLOW: lambda completed: CompletedWorkflow.from_record(completed).wire(),
        ExportKind.SKILL: lambda skill: ServedProcedure.from_record(skill).wire(),
        ExportKind.TIME_ZONE: lambda zone: {"timeZone": zone.name, "since": iso(zone.since)},
        ExportKind.AUDIT: lambda record: ServedAuditRecord.of(record).wire(),
        ExportKind.EPISODE: lambda episode: ServedEpisode.from_record(
            tenant_id, episode.user_id, episode.ref, episode
        ).wire(),
    }


def _session_begin(session: Session) -> dict[str, Any]:
    thread = session.thread
    # One import for each session of a thread: their ids differ, and a repeated import changes nothing.
    session_id = thread.id if session.number == 1 else f"{thread.id}#{session.number}"
    session_id += f".{session.part}" if session.part > 1 else ""
    title = {"title": thread.title} if thread.title is not None else {}
    return {"sessionId": session_id, "agentId": thread.agent_id, **title}


def _session_message(piece: Exported) -> dict[str, Any]:
    message: StoredMessage = piece.value
    exported = {"id": message.shown_id, "role": message.role.value, "content": message.text, **_time(message)}
    return exported if piece.feedback is None else {**exported, "feedback": ServedFeedback.of(piece.feedback).wire()}


def _time(message: StoredMessage) -> dict[str, str]:
    """Return a message's time, with the user's time zone: the import of a session takes an offset only with a time."""
    zone = message.time_zone
    if zone is not None and is_offset(zone):
        return {"timestamp": local_time(zone, message.timestamp).isoformat(timespec="milliseconds")}
    return {"timestamp": iso(message.timestamp), **({"timeZone": zone} if zone is not None else {})}


def _line(value: dict[str, Any]) -> str:
    return _json(value) + "\n"


def _json(value: dict[str, Any]) -> str:
    """Return JSON in one line. ``UnbrokenLines`` escapes what readers may take for ends of lines."""
    return json.dumps(value, ensure_ascii=False, default=str)
