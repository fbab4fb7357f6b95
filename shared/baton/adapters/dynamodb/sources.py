"""Sources of documents on DynamoDB: their records in one partition for each agent, their pages in one for each source.

Due ones are found by the ``idle`` index, in partitions of their own.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from itertools import islice

from baton.adapters.dynamodb import agent_keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.revised import create_revised, save_revised
from baton.adapters.dynamodb.shapes import SOURCE, SOURCE_PAGE
from baton.adapters.dynamodb.shards import due_entries
from baton.adapters.dynamodb.table import ConditionFailed, Table
from baton.domain.cursors import decode_text, encode_text
from baton.domain.identity import Scope
from baton.domain.source import Source, SourcePage, in_turns
from baton.domain.times import to_millis
from baton.ports.sources import DueSource

KEYS_PAGE = 500
"""Entries of a page of one partition that are due. They hold keys only."""
MAX_DUE = 100_000
"""Sources that are put into an order at once, some 40 MB. Twenty tenants with all that they may have are as many."""
LOADED_AT_ONCE = 25


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
        entries = await self._due_entries(before)
        order = in_turns(entries, lambda entry: agent_keys.source_place(entry)[0])
        while batch := list(islice(order, LOADED_AT_ONCE)):
            for due in await self._load(batch, before):
                yield due

    async def _due_entries(self, before: datetime) -> list[Item]:
        """Return the keys of what is due, the longest overdue first."""
        found: list[Item] = []
        async with aclosing(due_entries(self._table, agent_keys.source_shards(), before, page=KEYS_PAGE)) as pages:
            async for entries in pages:
                found += entries
                if len(found) >= MAX_DUE:
                    break
        return sorted(found, key=lambda entry: entry["idle_check_at"])

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
        """Return the sources in the order of their entries, read consistently, for the index may be behind."""
        wanted = [{"PK": entry["PK"], "SK": entry["SK"]} for entry in entries]
        items = await self._table.get_many(wanted, consistent=True) if wanted else []
        found = {(item["PK"], item["SK"]): DueSource(agent_keys.source_place(item)[0], _source(item)) for item in items}
        ordered = (found.get((entry["PK"], entry["SK"])) for entry in entries)
        return [each for each in ordered if each is not None and each.source.check_at <= before]


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
