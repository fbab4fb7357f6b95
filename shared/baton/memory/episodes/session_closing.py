"""The closing of a session, step by step. Every step may run twice, and at the same time as itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from aws_lambda_powertools import Logger

from baton.domain.episode import Episode, EpisodePart
from baton.domain.errors import NotFound, ThreadUnavailable
from baton.domain.identity import Scope
from baton.domain.metrics import Metric, count
from baton.domain.thread import Thread
from baton.memory.episodes.episode_digest import Digester
from baton.memory.episodes.episode_index import EpisodeIndex
from baton.memory.episodes.episode_messages import EpisodeMessages
from baton.memory.episodes.episode_writing import EpisodeWriter
from baton.memory.episodes.fact_changes import FactChanges
from baton.ports.episodes import Episodes
from baton.ports.threads import ThreadStore

logger = Logger(child=True)

MIN_MESSAGES = 3
"""The fewest messages of an episode that is summarised."""


class ClosingStep(StrEnum):
    """The steps, in their order. The state machine names them."""

    STORE = "store"
    """Redact the messages and store the episode. It is complete and readable from then on."""
    SUMMARIZE = "summarize"
    COMPARE = "compare"
    """Compare its facts with those of earlier episodes."""
    INDEX = "index"
    COMPLETE = "complete"


class _Forgotten(Exception):
    """The thread or its episode was deleted since its session ended. Nothing of it may be stored any more."""


@dataclass(frozen=True, slots=True)
class SessionClosing:
    """The pipeline that makes an episode of an ended session.

    A step adds what is missing and leaves the rest as it is. So a step that fails costs its own part only, and a later
    run adds that part.
    """

    store: ThreadStore
    episodes: Episodes
    writer: EpisodeWriter
    messages: EpisodeMessages
    digester: Digester
    fact_changes: FactChanges
    index: EpisodeIndex
    with_facts: bool = True
    """True if summaries and facts are wanted."""

    async def run(self, step: ClosingStep, scope: Scope, thread_id: str, number: int) -> Episode | None:
        """Carry out one step, and return the episode as it is then; None if the thread was deleted.

        Raises ``NotFound`` for a session that has not ended, and as the step's model, detector, search engine and store
        do.
        """
        try:
            return await self._run(step, scope, thread_id, number)
        except _Forgotten:
            logger.info("closing of a deleted thread ends here", thread_id=thread_id, episode=number)
            return None

    async def give_up(self, scope: Scope, thread_id: str, number: int) -> None:
        """Mark the episode as failed, because the pipeline has failed permanently."""
        ref = await self.episodes.get_ref(scope, thread_id, number)
        if ref is not None:
            await self.episodes.fail(scope, ref)

    async def _run(self, step: ClosingStep, scope: Scope, thread_id: str, number: int) -> Episode | None:
        ref = await self.episodes.get_ref(scope, thread_id, number)
        thread = await self._thread(scope, thread_id)
        if ref is None:
            raise NotFound("This session has not ended.")
        episode = await self.writer.write(scope, thread, ref)
        match step:
            case ClosingStep.STORE:
                pass
            case ClosingStep.SUMMARIZE:
                await self._summarise(scope, thread, episode)
            case ClosingStep.COMPARE:
                await self._compare(scope, episode)
            case ClosingStep.INDEX:
                await self._index(scope, thread, episode)
            case ClosingStep.COMPLETE:
                return await self._complete(scope, episode)
        return await self.episodes.get(scope, thread_id, number)

    async def _thread(self, scope: Scope, thread_id: str) -> Thread:
        """Return the thread. Every step begins here, and the index step ends here too: nothing outlives a deletion."""
        try:
            return await self.store.get_thread(scope, thread_id)
        except ThreadUnavailable:
            raise _Forgotten from None

    async def _summarise(self, scope: Scope, thread: Thread, episode: Episode) -> None:
        ref = episode.ref
        if EpisodePart.SUMMARY in episode.parts:
            return
        if not self.with_facts or episode.message_count < MIN_MESSAGES:
            await self.episodes.describe(scope, ref, None, ())
            return
        windows = self.messages.windows(scope, thread, ref)
        digest = await self.digester.digest(ref.id, windows, message_count=episode.message_count)
        await self.episodes.describe(scope, ref, digest.summary, digest.facts)

    async def _compare(self, scope: Scope, episode: Episode) -> None:
        if EpisodePart.FACTS in episode.parts or EpisodePart.SUMMARY not in episode.parts:
            return  # compared once there are facts
        await self.fact_changes.apply(scope, episode)

    async def _index(self, scope: Scope, thread: Thread, episode: Episode) -> None:
        if EpisodePart.INDEX in episode.parts:
            return
        await self.index.put(scope, thread, episode)
        try:
            await self._thread(scope, thread.id)
        except _Forgotten:
            await self.index.remove(scope, episode.ref)
            raise
        now = await self.episodes.get(scope, thread.id, episode.ref.number)
        if now is None:  # the tenant's retention has removed it in the meantime
            await self.index.remove(scope, episode.ref)
            raise _Forgotten
        if (now.summary, now.facts) == (episode.summary, episode.facts):
            await self.episodes.mark(scope, episode.ref, EpisodePart.INDEX)

    async def _complete(self, scope: Scope, episode: Episode) -> Episode | None:
        done = await self.episodes.complete(scope, episode.ref)
        if done is not None and done.missing:
            logger.warning(
                "episode is incomplete", episode_id=episode.ref.id, missing=[part.value for part in done.missing]
            )
            count(Metric.EPISODES_INCOMPLETE)
        if done is not None and done.is_settled:
            await self.store.settle(scope, episode.ref.thread_id, episode=episode.ref.number)
        return done
