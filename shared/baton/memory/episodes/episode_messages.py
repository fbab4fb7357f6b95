"""The messages of an episode: read from its thread, together with their redacted texts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace

from baton.domain.memory.episode import EpisodeMessage, EpisodeRef
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import Role, StoredMessage, list_filtered_runs
from baton.domain.threads.thread import Thread
from baton.memory.prompt.history_reading import WINDOW, read_message_windows
from baton.ports.memory.episodes import Episodes
from baton.ports.threads.threads import ThreadStore

MAX_HELD = 500
"""Messages of one run that are held in memory. Runs have fewer, except those of imported sessions."""


@dataclass(frozen=True, slots=True)
class HeldMessages:
    """All messages of a short session, read once for several uses, with the redacted texts by ordinal."""

    messages: Sequence[StoredMessage]
    redacted: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class EpisodeMessages:
    """The messages of episodes. Only redacted texts are stored for them; all other texts are in the thread."""

    store: ThreadStore
    episodes: Episodes

    async def read_windows(
        self, scope: Scope, thread: Thread, ref: EpisodeRef, held: HeldMessages | None = None
    ) -> AsyncIterator[list[EpisodeMessage]]:
        """Yield the messages in order, a few at a time. Messages that are ``held`` are not read again.

        Only messages of the user have a time zone, which counts for the messages after them too. Raises
        ``StoreUnavailable``.
        """
        branch, zone = ref.select_branch(thread), thread.time_zone
        windows = (
            read_message_windows(self.store, scope, branch, ref.first_ordinal, ref.end_ordinal)
            if held is None
            else _read_in_windows(held.messages)
        )
        async for window in keep_runs_whole(windows):
            filtered = list_filtered_runs(window)
            messages: list[StoredMessage] = []
            for message in window:
                zone = message.time_zone or zone
                if is_part_of_episode(message):
                    messages.append(replace(message, time_zone=zone))
            if messages:
                redacted = held.redacted if held is not None else await self._read_redacted(scope, thread, messages)
                yield [
                    replace(
                        _make_episode_message(message, redacted.get(message.ordinal)),
                        is_filtered=message.run_id in filtered,
                    )
                    for message in messages
                ]

    async def _read_redacted(
        self, scope: Scope, thread: Thread, messages: Sequence[StoredMessage]
    ) -> Mapping[int, str]:
        first, last = messages[0].ordinal, messages[-1].ordinal
        return await self.episodes.read_redactions(scope, thread.id, first_ordinal=first, end_ordinal=last + 1)

    async def read_page(
        self, scope: Scope, thread: Thread, ref: EpisodeRef, *, before: int | None, limit: int
    ) -> tuple[Sequence[EpisodeMessage], int | None]:
        """Return the last messages before the ordinal ``before`` (None: the end), and ``before`` of the next page.

        A page may have fewer messages than ``limit``, because some messages of a thread are not shown. Raises
        ``StoreUnavailable``.
        """
        top = ref.end_ordinal if before is None else min(before, ref.end_ordinal)
        if top <= ref.first_ordinal:
            return (), None
        branch = ref.select_branch(thread)
        page = await self.store.read_messages(scope, branch, limit=min(limit, top - ref.first_ordinal), before=top)
        messages = [
            message for message in page.messages if message.ordinal >= ref.first_ordinal and is_part_of_episode(message)
        ]
        redacted = await self.episodes.read_redactions(
            scope, thread.id, first_ordinal=page.messages[0].ordinal if page.messages else top, end_ordinal=top
        )
        next_before = page.next_before
        if next_before is not None and next_before <= ref.first_ordinal:
            next_before = None
        return [_make_episode_message(message, redacted.get(message.ordinal)) for message in messages], next_before


async def _read_in_windows(messages: Sequence[StoredMessage]) -> AsyncIterator[list[StoredMessage]]:
    for first in range(0, len(messages), WINDOW):
        yield list(messages[first : first + WINDOW])


async def keep_runs_whole(windows: AsyncIterator[list[StoredMessage]]) -> AsyncIterator[list[StoredMessage]]:
    """Yield the messages of windows, regrouped so that no run is divided, because its last message has its end.

    Only a run of more than ``MAX_HELD`` messages is divided.
    """
    held: list[StoredMessage] = []
    async for window in windows:
        messages = [*held, *window]
        last = messages[-1].run_id if messages else None
        is_open = bool(messages) and messages[-1].end is None and len(messages) <= MAX_HELD
        held = [message for message in messages if is_open and message.run_id == last]
        ready = messages[: len(messages) - len(held)]
        if ready:
            yield ready
    if held:
        yield held


def is_part_of_episode(message: StoredMessage) -> bool:
    """Return whether clients see a message, and it has text."""
    return message.is_shown and bool(message.text.strip())


def is_remembered(message: EpisodeMessage) -> bool:
    """Return whether a message is summarised and indexed: it is not a tool's result and was not filtered."""
    return message.role is not Role.TOOL and not message.is_filtered


def _make_episode_message(message: StoredMessage, redacted: str | None) -> EpisodeMessage:
    return EpisodeMessage(
        id=message.shown_id,
        ordinal=message.ordinal,
        role=message.role,
        content=message.plain_text,
        timestamp=message.timestamp,
        agent_id=message.agent_id,
        author=message.author,
        begun_by=message.begun_by,
        redacted_content=redacted,
        time_zone=message.time_zone,
    )
