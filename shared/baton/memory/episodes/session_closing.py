"""The closing of a session, step by step. Every step may run twice, even at the same time."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from enum import StrEnum

from aws_lambda_powertools import Logger

from baton.concurrency.tasks import gather_all
from baton.domain.errors import NotFound, SpendingRefusal, ThreadUnavailable
from baton.domain.memory.episode import Episode, EpisodePart, EpisodeRef, EpisodeStatus
from baton.domain.metrics import Metric, count
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import Thread
from baton.memory.episodes.episode_digest import Digester
from baton.memory.episodes.episode_index import EpisodeIndex
from baton.memory.episodes.episode_messages import EpisodeMessages, HeldMessages, is_part_of_episode
from baton.memory.episodes.fact_changes import FactChanges
from baton.memory.prompt.history_reading import read_message_windows
from baton.ports.agents.chat_model import ModelCaller
from baton.ports.memory.episodes import Episodes
from baton.ports.tenants.privacy import PiiDetector
from baton.ports.threads.threads import ThreadStore
from baton.tenants.privacy.redaction import Redactor

logger = Logger(child=True)

MAX_HELD_CHARACTERS = 100_000
"""Characters of messages that are held in memory from one step to the next."""
MESSAGE_CHARACTERS = 500
"""Characters added to the length of each message, for its other fields."""


MIN_MESSAGES = 3
"""The least number of messages of an episode that is summarised."""


class ClosingStep(StrEnum):
    """The steps, in their order. The state machine names them."""

    STORE = "store"
    """Redact the messages and store the episode. It is complete and readable from then on."""
    SUMMARIZE = "summarize"
    COMPARE = "compare"
    """Compare its facts with those of earlier episodes."""
    INDEX = "index"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class ClosingSession:
    """A session with its stored episode, as read for the steps of its closing."""

    thread: Thread
    episode: Episode
    held: HeldMessages | None = None
    """Its messages, if the first step read them and they are few. Other steps then do not read them again."""


@dataclass(frozen=True, slots=True)
class SessionClosing:
    """The pipeline that makes an episode of an ended session.

    A step adds its missing part and changes nothing else. If it fails, only its part is missing, and a later run adds
    that part.
    """

    store: ThreadStore
    episodes: Episodes
    detector: PiiDetector
    messages: EpisodeMessages
    digester: Digester
    fact_changes: FactChanges
    index: EpisodeIndex
    with_facts: bool = True
    """True if summaries and facts are made."""

    async def run(self, step: ClosingStep, scope: Scope, thread_id: str, number: int) -> Episode | None:
        """Carry out one step, and return the changed episode; None if the thread was deleted.

        Raises as ``begin`` and ``carry_out`` do.
        """
        session = await self.begin(scope, thread_id, number)
        if session is not None:
            session = await self.carry_out(step, scope, session)
        return session.episode if session is not None else None

    async def begin(self, scope: Scope, thread_id: str, number: int) -> ClosingSession | None:
        """Take the first step unless it is done, and return the session for the other steps; None for a deleted thread.

        Raises ``NotFound`` for a session that has not ended, and as the detector and the store do.
        """
        try:
            episode_ref, thread = await gather_all(
                self.episodes.find_ended(scope, thread_id, number), self.store.get_thread(scope, thread_id)
            )
        except ThreadUnavailable:
            _note_deleted(thread_id, number)
            return None
        if episode_ref is None:
            raise NotFound("This session has not ended.")
        if episode_ref.episode is not None:
            return ClosingSession(thread, episode_ref.episode)
        episode, held = await self._write(scope, thread, episode_ref.ref)
        if episode is None:
            _note_deleted(thread_id, number)
            return None
        return ClosingSession(thread, episode, held)

    async def carry_out(self, step: ClosingStep, scope: Scope, session: ClosingSession) -> ClosingSession | None:
        """Carry out one step, and return the changed session; None if its thread was deleted.

        ``begin`` has read the thread. Steps read it again after an answer of a model or the search engine, so that
        no data outlive a deletion. Raises as the step's model, search engine and store do.
        """
        episode: Episode | None = session.episode
        try:
            match step:
                case ClosingStep.SUMMARIZE:
                    episode = await self._summarise(scope, session)
                case ClosingStep.COMPARE:
                    episode = await self._compare(scope, session)
                case ClosingStep.INDEX:
                    episode = await self._index(scope, session)
                case ClosingStep.COMPLETE:
                    episode = await self._complete(scope, session.episode)
        except ThreadUnavailable:
            episode = None
        if episode is None:
            _note_deleted(session.thread.id, session.episode.ref.number)
            return None
        return replace(session, episode=episode)

    async def give_up(self, scope: Scope, thread_id: str, number: int) -> None:
        """Mark the episode as failed, because the pipeline has failed permanently."""
        ref = await self.episodes.get_ref(scope, thread_id, number)
        if ref is not None:
            await self.episodes.fail(scope, ref)

    async def _write(self, scope: Scope, thread: Thread, ref: EpisodeRef) -> tuple[Episode | None, HeldMessages | None]:
        """Store the redacted texts of the messages, then the episode. Return it, and its messages if they are few.

        A repetition changes nothing, and no model is needed. A stored episode has all its redacted texts. Returns no
        episode if the session is no longer recorded. Raises as the detector and the store do.
        """
        redactor, redactions = Redactor(self.detector), dict[int, str]()
        held, room = list[StoredMessage](), MAX_HELD_CHARACTERS
        agents: dict[str, None] = {}
        usage, message_count, started_at = Usage(), 0, ref.ended_at
        zone: str | None = None
        branch = ref.select_branch(thread)
        async for window in read_message_windows(self.store, scope, branch, ref.first_ordinal, ref.end_ordinal):
            for message in window:
                room -= len(message.text) + MESSAGE_CHARACTERS
                if room >= 0:
                    held.append(message)
                started_at = min(started_at, message.timestamp) if message_count else message.timestamp
                message_count += 1
                zone = zone or message.time_zone
                if message.agent_id is not None:
                    agents[message.agent_id] = None
                if message.end is not None:
                    usage += message.end.usage
                if is_part_of_episode(message):
                    redacted = await redactor.redact(message.plain_text)
                    if redacted is not None:
                        redactions[message.ordinal] = redacted
                        await self.episodes.put_redaction(scope, thread.id, message.ordinal, redacted)
        episode = Episode(
            ref=ref,
            user_id=scope.user_id,
            agent_ids=tuple(agents) or (thread.agent_id,),
            status=EpisodeStatus.PENDING,
            started_at=started_at,
            message_count=message_count,
            usage=usage,
            time_zone=zone or thread.time_zone,
        )
        is_whole = len(held) == message_count
        return await self.episodes.store(scope, episode), HeldMessages(held, redactions) if is_whole else None

    async def _summarise(self, scope: Scope, session: ClosingSession) -> Episode | None:
        episode, ref = session.episode, session.episode.ref
        if EpisodePart.SUMMARY in episode.parts:
            return episode
        if not self.with_facts or episode.message_count < MIN_MESSAGES:
            return await self.episodes.describe(scope, ref, None, ())
        windows = self.messages.read_windows(scope, session.thread, ref, session.held)
        caller = ModelCaller.of(scope, ref.thread_id, agent_id=session.thread.agent_id)
        try:
            summary, facts = await self.digester.of(caller).digest(ref.id, windows, message_count=episode.message_count)
        except SpendingRefusal as refusal:  # without a summary, the session is still found by its messages
            logger.info("an episode gets no summary", episode_id=ref.id, code=refusal.code)
            return await self.episodes.describe(scope, ref, None, ())
        return await self.episodes.describe(scope, ref, summary, facts)

    async def _compare(self, scope: Scope, session: ClosingSession) -> Episode | None:
        episode = session.episode
        if EpisodePart.FACTS in episode.parts or EpisodePart.SUMMARY not in episode.parts:
            return episode  # a later run compares the facts, once there is a summary
        await self.store.get_thread(scope, session.thread.id)
        try:
            return await self.fact_changes.apply(scope, episode)
        except SpendingRefusal as refusal:
            logger.info("facts are not compared", episode_id=episode.ref.id, code=refusal.code)
            return await self.episodes.keep_facts(scope, episode.ref, episode.facts)

    async def _index(self, scope: Scope, session: ClosingSession) -> Episode | None:
        """Index the episode, and return it as it is stored now; None if it has been deleted meanwhile."""
        thread, episode = session.thread, session.episode
        if EpisodePart.INDEX in episode.parts:
            return episode
        await self.index.put(scope, thread, episode, session.held)
        now: Episode | None = None
        with contextlib.suppress(ThreadUnavailable):
            _, now = await gather_all(
                self.store.get_thread(scope, thread.id), self.episodes.get(scope, thread.id, episode.ref.number)
            )
        if now is None:  # even if the tenant's retention has removed the episode in the meantime
            await self.index.remove(scope, episode.ref)
            return None
        if (now.summary, now.facts) == (episode.summary, episode.facts):
            return await self.episodes.mark(scope, episode.ref, EpisodePart.INDEX)
        return now  # the facts have changed since, so the part stays missing for a later run

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


def _note_deleted(thread_id: str, number: int) -> None:
    logger.info("closing of a deleted thread ends here", thread_id=thread_id, episode=number)
