"""The first step of closing a session: redact its messages and store its episode, complete and readable as it is."""

from __future__ import annotations

from dataclasses import dataclass

from baton.domain.episode import Episode, EpisodeRef, EpisodeStatus
from baton.domain.identity import Scope
from baton.domain.thread import Thread
from baton.domain.usage import Usage
from baton.memory.episodes.episode_messages import is_part_of_episode
from baton.memory.prompt.history_reading import message_windows
from baton.ports.episodes import Episodes
from baton.ports.privacy import PiiDetector
from baton.ports.threads import ThreadStore
from baton.privacy.redaction import Redactor


@dataclass(frozen=True, slots=True)
class EpisodeWriter:
    """Makes the episode of an ended session from its thread's messages. No model is needed for it."""

    store: ThreadStore
    episodes: Episodes
    detector: PiiDetector

    async def write(self, scope: Scope, thread: Thread, ref: EpisodeRef) -> Episode:
        """Store the episode after the redacted texts of its messages, and return it. Idempotent.

        An episode that is stored has all its redacted texts. Raises as the detector and the store do.
        """
        known = await self.episodes.get(scope, thread.id, ref.number)
        if known is not None:
            return known
        redactor = Redactor(self.detector)
        agents: dict[str, None] = {}
        usage, count, started_at = Usage(), 0, ref.ended_at
        zone: str | None = None
        async for window in message_windows(
            self.store, scope, ref.selected(thread), ref.first_ordinal, ref.end_ordinal
        ):
            for message in window:
                started_at = min(started_at, message.timestamp) if count else message.timestamp
                count += 1
                zone = zone or message.time_zone
                if message.agent_id is not None:
                    agents[message.agent_id] = None
                if message.end is not None:
                    usage += message.end.usage
                if is_part_of_episode(message):
                    redacted = await redactor.redact(message.text)
                    if redacted is not None:
                        await self.episodes.put_redaction(scope, thread.id, message.ordinal, redacted)
        episode = Episode(
            ref=ref,
            user_id=scope.user_id,
            agent_ids=tuple(agents) or (thread.agent_id,),
            status=EpisodeStatus.PENDING,
            started_at=started_at,
            message_count=count,
            usage=usage,
            time_zone=zone or thread.time_zone,
        )
        await self.episodes.store(scope, episode)
        return await self.episodes.get(scope, thread.id, ref.number) or episode
