"""Episodes on DynamoDB, in the partition of their thread."""

from __future__ import annotations

import contextlib

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.fenced import put_fenced
from baton.adapters.dynamodb.table import ConditionFailed, Table
from baton.domain.episode import EndReason, Episode, EpisodeRef, EpisodeStatus
from baton.domain.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.domain.usage import Usage
from baton.ports.thread_store import Lease


class DynamoEpisodes:
    """``Episodes`` on the conversation table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def begin(self, lease: Lease, ref: EpisodeRef) -> None:
        item: Item = {
            **keys.episode(lease.scope, ref.thread_id, ref.number),
            "first_ordinal": ref.first_ordinal,
            "end_ordinal": ref.end_ordinal,
            "reason": ref.reason.value,
            "ended_at": to_millis(ref.ended_at),
            "episode_status": EpisodeStatus.PENDING.value,
        }
        await put_fenced(self._table, lease, item)

    async def get_ref(self, scope: Scope, thread_id: str, number: int) -> EpisodeRef | None:
        item = await self._table.get(keys.episode(scope, thread_id, number))
        return _ref(thread_id, number, item) if item else None

    async def get(self, scope: Scope, thread_id: str, number: int) -> Episode | None:
        item = await self._table.get(keys.episode(scope, thread_id, number))
        if item is None or "started_at" not in item:
            return None
        return Episode(
            ref=_ref(thread_id, number, item),
            user_id=scope.user_id,
            agent_ids=tuple(item["agent_ids"]),
            status=EpisodeStatus(item["episode_status"]),
            started_at=from_millis(item["started_at"]),
            message_count=item["message_count"],
            usage=Usage(item["input_tokens"], item["output_tokens"]),
        )

    async def complete(self, scope: Scope, episode: Episode) -> None:
        values: Item = {
            ":status": EpisodeStatus.COMPLETE.value,
            ":agents": list(episode.agent_ids),
            ":started": to_millis(episode.started_at),
            ":count": episode.message_count,
            ":input": episode.usage.input_tokens,
            ":output": episode.usage.output_tokens,
        }
        await self._table.update(
            keys.episode(scope, episode.ref.thread_id, episode.ref.number),
            "SET episode_status = :status, agent_ids = :agents, started_at = :started, message_count = :count, "
            "input_tokens = :input, output_tokens = :output",
            values,
            condition="attribute_exists(PK)",
        )

    async def fail(self, scope: Scope, ref: EpisodeRef) -> None:
        with contextlib.suppress(ConditionFailed):
            await self._table.update(
                keys.episode(scope, ref.thread_id, ref.number),
                "SET episode_status = :failed",
                {":failed": EpisodeStatus.FAILED.value, ":pending": EpisodeStatus.PENDING.value},
                condition="episode_status = :pending",
            )


def _ref(thread_id: str, number: int, item: Item) -> EpisodeRef:
    return EpisodeRef(
        thread_id=thread_id,
        number=number,
        first_ordinal=item["first_ordinal"],
        end_ordinal=item["end_ordinal"],
        reason=EndReason(item["reason"]),
        ended_at=from_millis(item["ended_at"]),
    )
