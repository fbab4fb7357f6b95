"""Ratings of answers by users, kept with the turn."""

from __future__ import annotations

from dataclasses import dataclass

from baton.domain.errors import InvalidRequest, NotFound
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.domain.threads.feedback import Feedback, Rating
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.thread import Thread
from baton.ports.clock import Clock
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.messages import FeedbackStore
from baton.ports.threads.threads import ThreadStore
from baton.threads.requests.thread_access import get_own_thread, refusals_audited

MAX_AUDITED = 256
"""The largest number of characters of an id in the audit."""
_COUNTED = {Rating.UP: Metric.ANSWERS_RATED_UP, Rating.DOWN: Metric.ANSWERS_RATED_DOWN}


@dataclass(frozen=True, slots=True)
class RatedAnswer:
    """An answer, and the feedback on it; None if it was withdrawn."""

    thread_id: str
    message_id: str
    run_id: str
    feedback: Feedback | None


@dataclass(frozen=True, slots=True)
class Ratings:
    """Users' feedback on answers, which they can change and withdraw. A repetition changes nothing."""

    store: ThreadStore
    feedback: FeedbackStore
    audit: AuditLog
    clock: Clock

    async def rate(
        self, scope: Scope, thread_id: str, message_id: str, rating: Rating | None, comment: str | None
    ) -> RatedAnswer:
        """Store the rating of an answer in the caller's own thread; None withdraws it.

        Raises ``ThreadUnavailable`` (audited), ``NotFound`` for an unknown message, and ``InvalidRequest`` for a
        message that is not an answer, or a comment without a rating.
        """
        if rating is None and comment is not None:
            raise InvalidRequest("comment: a withdrawn rating has none.")
        detail = {"messageId": message_id[:MAX_AUDITED]}
        async with refusals_audited(self.audit, scope, thread_id, "message.feedback", detail):
            thread = await get_own_thread(self.store, scope, thread_id)
            message = await self._find_answer(scope, thread, message_id)
            earlier_feedback = await self.feedback.get(scope, thread, message.ordinal)
            is_unchanged = earlier_feedback.says(rating, comment) if earlier_feedback is not None else rating is None
            if is_unchanged:
                return RatedAnswer(thread.id, message.id, message.run_id, earlier_feedback)
            feedback = await self._store(scope, thread, message, rating, comment)
        if rating is not None and (earlier_feedback is None or earlier_feedback.rating is not rating):
            count(_COUNTED[rating])
        await self.audit.record(
            scope,
            "message.feedback",
            thread_id=thread.id,
            outcome=rating.value if rating is not None else "withdrawn",
            detail={
                "messageId": message.id[:MAX_AUDITED],
                "runId": message.run_id[:MAX_AUDITED],
                "agentId": message.agent_id,
                "hasComment": comment is not None,
            },
        )
        return RatedAnswer(thread.id, message.id, message.run_id, feedback)

    async def _find_answer(self, scope: Scope, thread: Thread, message_id: str) -> StoredMessage:
        message = await self.store.find_message(scope, thread, message_id)
        if message is None:
            raise NotFound("This conversation has no such message.")
        if message.role is not Role.ASSISTANT or not message.is_said:
            raise InvalidRequest("Only answers can be rated: this message is none.")
        return message

    async def _store(
        self, scope: Scope, thread: Thread, message: StoredMessage, rating: Rating | None, comment: str | None
    ) -> Feedback | None:
        if rating is None:
            await self.feedback.withdraw(scope, thread, message.ordinal)
            return None
        feedback = Feedback(message.id, message.ordinal, message.run_id, rating, comment, self.clock.now())
        await self.feedback.put(scope, thread, feedback)
        return feedback
