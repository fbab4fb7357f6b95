"""Sources of documents on DynamoDB: their records in one partition for each agent, their pages in one for each source.

Due ones are found by the ``idle`` index, in partitions of their own.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime

from baton.adapters.dynamodb import agent_keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.revised import create_revised, save_revised
from baton.adapters.dynamodb.shapes import SOURCE, SOURCE_PAGE
from baton.adapters.dynamodb.shards import due_entries
from baton.adapters.dynamodb.table import ConditionFailed, Table
from baton.domain.cursors import decode_text, encode_text
from baton.domain.identity import Scope
from baton.domain.source import Source, SourcePage
from baton.domain.times import to_millis
from baton.ports.sources import DueSource


class DynamoSources:
    """``SourceStore`` on the conversation table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def create(self, scope: Scope, source: Source) -> Source:
        return _source(await create_revised(self._table, _item(scope, source, revision=1)))

    async def get(self, scope: Scope, agent_id: str, source_id: str) -> Source | None:
        item = await self._table.get(agent_keys.source(scope, agent_id, source_id))
        return _source(item) if item is not None else None

    async def of_agent(
        self, scope: Scope, agent_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Source], str | None]:
        after = decode_text(cursor) if cursor else ""
        found: list[Source] = []
        pages = self._table.query(
            agent_keys.sources(scope, agent_id),
            first=f"{agent_keys.SOURCE}{after}",
            last=f"{agent_keys.SOURCE}~",
            limit=limit + 2,
        )
        async with aclosing(pages):
            async for page in pages:
                listed = [source for source in map(_source, page) if source.id != after]
                found += [source for source in listed if source.deleted_at is None]
                if len(found) > limit:
                    break
        return found[:limit], encode_text(found[limit - 1].id) if len(found) > limit else None

    async def save(self, scope: Scope, source: Source) -> Source | None:
        changed = replace(source, revision=source.revision + 1)
        return changed if await save_revised(self._table, _item(scope, source, revision=changed.revision)) else None

    async def remove(self, scope: Scope, agent_id: str, source_id: str) -> None:
        await self._table.delete(agent_keys.source(scope, agent_id, source_id))

    async def due(self, before: datetime) -> AsyncIterator[DueSource]:
        async with aclosing(due_entries(self._table, agent_keys.source_shards(), before)) as pages:
            async for entries in pages:
                for due in await self._load(entries, before):
                    yield due

    async def pages(self, scope: Scope, source: Source) -> Sequence[SourcePage]:
        found: list[SourcePage] = []
        async for page in self._table.query(
            agent_keys.source_pages(scope, source.agent_id, source.id), prefix=agent_keys.SOURCE_PAGE
        ):
            found += [
                SOURCE_PAGE.unpack(item["body"], document_id=item["SK"].removeprefix(agent_keys.SOURCE_PAGE))
                for item in page
            ]
        return found

    async def save_page(self, scope: Scope, source: Source, page: SourcePage) -> None:
        item: Item = {
            **agent_keys.source_page(scope, source.agent_id, source.id, page.document_id),
            "seen": page.seen,
            "body": SOURCE_PAGE.pack(page),
        }
        with contextlib.suppress(ConditionFailed):  # a later refresh has dealt with it
            await self._table.put(
                item, condition="attribute_not_exists(PK) OR seen <= :seen", values={":seen": page.seen}
            )

    async def remove_page(self, scope: Scope, source: Source, page: SourcePage) -> None:
        await self._table.delete(agent_keys.source_page(scope, source.agent_id, source.id, page.document_id))

    async def _load(self, entries: Sequence[Item], before: datetime) -> list[DueSource]:
        """Read the sources consistently, for the index may be behind. The longest overdue come first."""
        wanted = [{"PK": entry["PK"], "SK": entry["SK"]} for entry in entries]
        items = await self._table.get_many(wanted, consistent=True) if wanted else []
        found = [DueSource(agent_keys.source_place(item)[0], _source(item)) for item in items]
        return sorted((each for each in found if each.source.check_at <= before), key=lambda each: each.source.check_at)


def _item(scope: Scope, source: Source, *, revision: int) -> Item:
    return {
        **agent_keys.source(scope, source.agent_id, source.id),
        "revision": revision,
        "idle_shard": agent_keys.source_shard(source.id),
        "idle_check_at": to_millis(source.check_at),
        "body": SOURCE.pack(source),
    }


def _source(item: Item) -> Source:
    _, agent_id, source_id = agent_keys.source_place(item)
    return SOURCE.unpack(item["body"], id=source_id, agent_id=agent_id, revision=item["revision"])
