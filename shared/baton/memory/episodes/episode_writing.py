"""The first step of closing a session: redact its messages and store its episode, complete and readable as it is."""

from __future__ import annotations

from dataclasses import dataclass

from baton.domain.memory.episode import Episode, EpisodeRef, EpisodeStatus
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import Thread
from baton.memory.episodes.episode_messages import HeldMessages, is_part_of_episode
from baton.memory.prompt.history_reading import message_windows
from baton.ports.memory.episodes import Episodes
from baton.ports.tenants.privacy import PiiDetector
from baton.ports.threads.threads import ThreadStore
from baton.tenants.privacy.redaction import Redactor

MAX_HELD_CHARACTERS = 100_000
"""Characters of messages that are kept from one step to the next."""
MESSAGE_CHARACTERS = 500
"""Characters that a message counts beside its text."""


@dataclass(frozen=True, slots=True)
class EpisodeWriter:
    """A writer of ended sessions' episodes, from the messages of their threads. No model is needed for it."""

    store: ThreadStore
    episodes: Episodes
    detector: PiiDetector

    async def write(self, scope: Scope, thread: Thread, ref: EpisodeRef) -> tuple[Episode | None, HeldMessages | None]:
        """Store the episode after the redacted texts of its messages. Return it, and its messages if they are few.

        Idempotent. An episode that is stored has all its redacted texts. Returns no episode if the session is not
        recorded any more. Raises as the detector and the store do.
        """
        redactor, redactions = Redactor(self.detector), dict[int, str]()
        held, room = list[StoredMessage](), MAX_HELD_CHARACTERS
        agents: dict[str, None] = {}
        usage, count, started_at = Usage(), 0, ref.ended_at
        zone: str | None = None
        async for window in message_windows(
            self.store, scope, ref.selected(thread), ref.first_ordinal, ref.end_ordinal
        ):
            for message in window:
                room -= len(message.text) + MESSAGE_CHARACTERS
                if room >= 0:
                    held.append(message)
                started_at = min(started_at, message.timestamp) if count else message.timestamp
                count += 1
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
            message_count=count,
            usage=usage,
            time_zone=zone or thread.time_zone,
        )
        is_whole = len(held) == count
        return await self.episodes.store(scope, episode), HeldMessages(held, redactions) if is_whole else None
