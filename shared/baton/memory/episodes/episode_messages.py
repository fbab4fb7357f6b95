"""The messages of an episode: read from its thread, together with their redacted texts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from baton.domain.episode import EpisodeMessage, EpisodeRef
from baton.domain.identity import Scope
from baton.domain.message import Role, StoredMessage
from baton.domain.thread import Thread
from baton.memory.message_range import message_windows
from baton.ports.episodes import Episodes
from baton.ports.thread_store import ThreadStore


@dataclass(frozen=True, slots=True)
class EpisodeMessages:
    """Reads messages of stored episodes. Redacted texts are stored, all others stand in the thread alone."""

    store: ThreadStore
    episodes: Episodes

    async def windows(self, scope: Scope, thread: Thread, ref: EpisodeRef) -> AsyncIterator[list[EpisodeMessage]]:
        """Yield the messages in order, a few at a time. Raises ``StoreUnavailable``.

        Only messages of the user have a time zone of their own. It counts for the answers too, until it changes.
        """
        there, zone = ref.selected(thread), thread.time_zone
        async for window in message_windows(self.store, scope, there, ref.first_ordinal, ref.end_ordinal):
            shown: list[StoredMessage] = []
            for message in window:
                zone = message.time_zone or zone
                if is_part_of_episode(message):
                    shown.append(replace(message, time_zone=zone))
            if shown:
                first, last = shown[0].ordinal, shown[-1].ordinal
                redacted = await self.episodes.redactions(scope, thread.id, first_ordinal=first, end_ordinal=last + 1)
                yield [_episode_message(message, redacted.get(message.ordinal)) for message in shown]

    async def page(
        self, scope: Scope, thread: Thread, ref: EpisodeRef, *, before: int | None, limit: int
    ) -> tuple[Sequence[EpisodeMessage], int | None]:
        """Return the last messages before the ordinal ``before``, or of the episode, and ``before`` of the next page.

        A page may have fewer messages than ``limit``, because some messages of a thread are not shown.
        """
        top = ref.end_ordinal if before is None else min(before, ref.end_ordinal)
        if top <= ref.first_ordinal:
            return (), None
        there = ref.selected(thread)
        page = await self.store.read_messages(scope, there, limit=min(limit, top - ref.first_ordinal), before=top)
        shown = [each for each in page.messages if each.ordinal >= ref.first_ordinal and is_part_of_episode(each)]
        redacted = await self.episodes.redactions(
            scope, thread.id, first_ordinal=page.messages[0].ordinal if page.messages else top, end_ordinal=top
        )
        next_before = (
            page.next_before if page.next_before is not None and page.next_before > ref.first_ordinal else None
        )
        return [_episode_message(each, redacted.get(each.ordinal)) for each in shown], next_before


def is_part_of_episode(message: StoredMessage) -> bool:
    """Whether a message is one that clients see and that has text."""
    return message.is_shown and bool(message.text.strip())


def is_remembered(message: EpisodeMessage) -> bool:
    """Whether a message is summarized and indexed: what a person or an agent said, and not what a tool returned."""
    return message.role is not Role.TOOL and not message.is_filtered


def _episode_message(message: StoredMessage, redacted: str | None) -> EpisodeMessage:
    return EpisodeMessage(
        id=message.shown_id,
        ordinal=message.ordinal,
        role=message.role,
        content=message.text,
        timestamp=message.timestamp,
        agent_id=message.agent_id,
        redacted_content=redacted,
        time_zone=message.time_zone,
        is_filtered=message.is_filtered,
    )
