"""Episodes: memories of ended sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from baton_client.addresses import given, path
from baton_client.asynchronous.pages import AsyncPager, Page
from baton_client.asynchronous.resource import AsyncResource
from baton_client.models import Episode, EpisodeWithMessages, FoundEpisode, ImportAnswer

FoundEpisodes = list[FoundEpisode]


class AsyncEpisodes(AsyncResource):
    """``client.episodes``: the caller's own episodes."""

    def list(self, *, limit: int | None = None) -> AsyncPager[Episode]:
        """List episodes, the newest first."""
        return self._list("/v1/episodes", Episode, limit=limit)

    async def get(self, episode_id: str, *, limit: int | None = None, cursor: str | None = None) -> EpisodeWithMessages:
        """Return an episode with a page of its messages. Pass its ``next_cursor`` as ``cursor`` for the next page."""
        address = path("/v1/episodes/{episode_id}", episode_id=episode_id)
        return await self._get(address, EpisodeWithMessages, limit=limit, cursor=cursor)

    async def search(
        self, query: str, *, limit: int | None = None, since: datetime | None = None, until: datetime | None = None
    ) -> FoundEpisodes:
        """Return the episodes that match a question best, the best first."""
        times = {"from": since.isoformat() if since else None, "to": until.isoformat() if until else None}
        body = {"query": query} | given(limit=limit, **times)
        page: Page[FoundEpisode] = await self._post("/v1/episodes/search", Page[FoundEpisode], body)
        return page.items

    async def import_session(
        self,
        session_id: str,
        messages: Sequence[Mapping[str, Any]],
        *,
        agent_id: str | None = None,
        title: str | None = None,
        ended_at: datetime | None = None,
        time_zone: str | None = None,
    ) -> ImportAnswer:
        """Import a conversation of another system, under its id there, so that the call is safe to repeat.

        A message has ``role``, ``content``, ``timestamp`` (ISO 8601 with a time zone) and the optional fields of
        ``POST /v1/episodes/import``. ``ended_at`` needs a time zone; None: the time of the last message. ``time_zone``
        is the zone in which the user was then; without it the offsets of the messages' times count. Raises
        ``ImportConflictError`` if the conversation exists and was not imported with the same content.
        """
        body = {"sessionId": session_id, "messages": [dict(message) for message in messages]}
        end_time = ended_at.isoformat() if ended_at else None
        optional = given(agentId=agent_id, title=title, endedAt=end_time, timeZone=time_zone)
        return await self._post("/v1/episodes/import", ImportAnswer, body | optional)
