"""Documents and their sources on DynamoDB."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from itertools import islice

from baton.adapters.dynamodb import agent_keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.conditional_writes import create_revised, save_revised
from baton.adapters.dynamodb.key_forms import Key
from baton.adapters.dynamodb.shapes import DOCUMENT, SOURCE, SOURCE_PAGE
from baton.adapters.dynamodb.shards import LISTING, make_page, read_due_entries, read_page
from baton.adapters.dynamodb.table import AT_ONCE, get_key
from baton.adapters.dynamodb.table_stores import TableStore
from baton.adapters.dynamodb.writes import ConditionFailed
from baton.domain.cursors import decode_text, encode_text
from baton.domain.documents.document import Document, DocumentRef, IngestionStep, VersionStatus
from baton.domain.documents.source import Source, SourcePage, alternate_tenants
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.documents.sources import DueSource

KEYS_PAGE = 500
"""The number of due entries on a page of one partition. Entries hold only keys."""
MAX_DUE = 100_000
"""The maximum number of due sources that are sorted in memory (about 40 MB). Twenty tenants may have this many."""
LOADED_AT_ONCE = 25
"""The number of due sources that are read together."""
_REVISED = ("revision", "body")
"""The attributes that only ``save`` writes. ``note_progress`` writes other ones."""


class DynamoSources(TableStore):
    """``SourceStore`` on the conversation table."""

    async def create(self, scope: Scope, source: Source) -> Source:
        return _to_source(await create_revised(self._table, _make_source_item(scope, source, revision=1)))

    async def get(self, scope: Scope, agent_id: str, source_id: str) -> Source | None:
        return await self._table.read(agent_keys.source(scope, agent_id, source_id), _to_source)

    async def of_agent(
        self, scope: Scope, agent_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Source], str | None]:
        after = decode_text(cursor) if cursor else ""
        sources: list[Source] = []
        pages = self._table.query(
            agent_keys.sources(scope, agent_id),
            first=f"{agent_keys.SOURCE}{after}",
            last=f"{agent_keys.SOURCE}~",
            limit=limit + 2,
        )
        async with aclosing(pages):
            async for page in pages:
                page_sources = map(_to_source, page)
                sources += [source for source in page_sources if source.id != after and source.deleted_at is None]
                if len(sources) > limit:
                    break
        return make_page(sources, limit, lambda source: encode_text(source.id))

    async def save(self, scope: Scope, source: Source) -> Source | None:
        changed = replace(source, revision=source.revision + 1)
        item = _make_source_item(scope, source, revision=changed.revision)
        return changed if await save_revised(self._table, item, compared=_REVISED) else None

    async def remove(self, scope: Scope, agent_id: str, source_id: str) -> None:
        await self._table.delete(agent_keys.source(scope, agent_id, source_id))

    async def due(self, before: datetime) -> AsyncIterator[DueSource]:
        entries = await self._list_due_entries(before)
        order = alternate_tenants(entries, lambda entry: agent_keys.source.read_ids(entry)[0])
        while batch := list(islice(order, LOADED_AT_ONCE)):
            for due in await self._load(batch, before):
                yield due

    async def _list_due_entries(self, before: datetime) -> list[Item]:
        """Return the index's entries of due sources, the longest overdue first: all, or about ``MAX_DUE``."""
        due: list[Item] = []
        async with aclosing(
            read_due_entries(self._table, agent_keys.source_shards(), before, page_size=KEYS_PAGE)
        ) as pages:
            async for entries in pages:
                due += entries
                if len(due) >= MAX_DUE:
                    break
        return sorted(due, key=lambda entry: entry["idle_check_at"])

    async def pages(self, scope: Scope, source: Source) -> Sequence[SourcePage]:
        partition = agent_keys.source_pages(scope, source.agent_id, source.id)
        return [
            SOURCE_PAGE.unpack(item["body"], document_id=item["SK"].removeprefix(agent_keys.SOURCE_PAGE))
            for item in await self._table.read_all(partition, prefix=agent_keys.SOURCE_PAGE)
        ]

    async def save_page(self, scope: Scope, source: Source, page: SourcePage) -> None:
        item: Item = {
            **agent_keys.source_page(scope, source.agent_id, source.id, page.document_id),
            "seen": page.seen,
            "body": SOURCE_PAGE.pack(page),
        }
        with contextlib.suppress(ConditionFailed):  # a later refresh has written the page
            await self._table.put(
                item, condition="attribute_not_exists(PK) OR seen <= :seen", values={":seen": page.seen}
            )

    async def remove_page(self, scope: Scope, source: Source, page: SourcePage) -> None:
        await self._table.delete(agent_keys.source_page(scope, source.agent_id, source.id, page.document_id))

    async def _load(self, entries: Sequence[Item], before: datetime) -> list[DueSource]:
        """Return the due sources, in the order of their entries. Read consistently, because the index may be behind."""
        items = await self._table.get_listed(entries, consistent=True)
        by_key = {
            (item["PK"], item["SK"]): DueSource(agent_keys.source.read_ids(item)[0], _to_source(item)) for item in items
        }
        ordered = (by_key.get((entry["PK"], entry["SK"])) for entry in entries)
        return [source for source in ordered if source is not None and source.source.check_at <= before]


def _make_source_item(scope: Scope, source: Source, *, revision: int) -> Item:
    return {
        **agent_keys.source(scope, source.agent_id, source.id),
        "revision": revision,
        "idle_shard": agent_keys.source_shards.of(source.id),
        "idle_check_at": to_millis(source.check_at),
        "body": SOURCE.pack(source),
    }


def _to_source(item: Item) -> Source:
    _, agent_id, source_id = agent_keys.source.read_ids(item)
    return SOURCE.unpack(item["body"], id=source_id, agent_id=agent_id, revision=item["revision"])


class DynamoDocuments(TableStore):
    """``DocumentStore`` on the conversation table.

    Progress is in separate attributes, so that steps that run at the same time need not retry each other's writes. No
    index contains these attributes, so noting progress writes to no index.
    """

    async def create(self, scope: Scope, document: Document) -> Document:
        return _to_document(await create_revised(self._table, _make_item(scope, document, revision=1)))

    async def get(self, scope: Scope, agent_id: str, document_id: str) -> Document | None:
        return await self._table.read(agent_keys.document(scope, agent_id, document_id), _to_document)

    async def get_many(self, scope: Scope, agent_id: str, document_ids: Collection[str]) -> Mapping[str, Document]:
        item_keys = [agent_keys.document(scope, agent_id, document_id) for document_id in dict.fromkeys(document_ids)]
        return {document.id: document for document in await self._load(item_keys)}

    async def save(self, scope: Scope, document: Document) -> Document | None:
        changed = replace(document, revision=document.revision + 1)
        item = _make_item(scope, document, revision=changed.revision)
        return changed if await save_revised(self._table, item, compared=_REVISED) else None

    async def note_progress(
        self, scope: Scope, ref: DocumentRef, step: IngestionStep, percent: int, at: datetime
    ) -> None:
        await self._table.change(
            agent_keys.document(scope, ref.agent_id, ref.document_id),
            "SET progress = :percent, progress_step = :step, progress_at = :at",
            {":percent": percent, ":step": step.value, ":at": to_millis(at), ":version": ref.version},
            condition="in_progress = :version AND progress < :percent",
        )

    async def of_agent(
        self, scope: Scope, agent_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Document], str | None]:
        listings = [agent_keys.documents(scope, agent_id)]
        entries, next_cursor = await read_page(self._table, listings, limit=limit, cursor=cursor)
        loaded = await self._load([get_key(entry) for entry in entries])
        by_id = {document.id: document for document in loaded if document.deleted_at is None}
        ids = [agent_keys.document.read_ids(entry)[2] for entry in entries]
        return [by_id[document_id] for document_id in ids if document_id in by_id], next_cursor

    async def count(self, scope: Scope, agent_id: str, *, up_to: int) -> int:
        partition = agent_keys.documents(scope, agent_id)
        entries = await self._table.read_all(partition, limit=max(1, up_to), index=LISTING, enough=up_to)
        return min(len(entries), up_to)

    async def remove(self, scope: Scope, document: Document) -> bool:
        return await self._table.delete(
            agent_keys.document(scope, document.agent_id, document.id),
            condition="attribute_not_exists(PK) OR revision = :read",
            values={":read": document.revision},
        )

    async def due(self, before: datetime) -> AsyncIterator[DocumentRef]:
        async with aclosing(
            read_due_entries(self._table, agent_keys.ingestion_shards(), before, page_size=AT_ONCE)
        ) as pages:
            async for entries in pages:
                # Read consistently, because the index may be behind.
                for item in await self._table.get_listed(entries, consistent=True):
                    document = _to_document(item)
                    if document.check_at is not None and document.check_at <= before:
                        tenant_id, agent_id, document_id = agent_keys.document.read_ids(item)
                        yield DocumentRef(tenant_id, agent_id, document_id, document.latest.number)

    async def _load(self, item_keys: Sequence[Key]) -> list[Document]:
        """Return the documents that exist. Read consistently, because a deleted document must not be used any more."""
        return [_to_document(item) for item in await self._table.get_many(item_keys, consistent=True)]


def _make_item(scope: Scope, document: Document, *, revision: int) -> Item:
    item: Item = {
        **agent_keys.document(scope, document.agent_id, document.id),
        "revision": revision,
        "body": DOCUMENT.pack(document),
    }
    if document.deleted_at is None:
        item["listing"] = agent_keys.documents(scope, document.agent_id)
        item["listed_at"] = f"{to_millis(document.created_at):015d}#{document.id}"
    if document.check_at is not None:
        item["idle_shard"] = agent_keys.ingestion_shards.of(document.id)
        item["idle_check_at"] = to_millis(document.check_at)
    newest = document.next
    if newest is not None and newest.status is VersionStatus.PROCESSING and document.deleted_at is None:
        item["in_progress"] = newest.number
        item["progress"] = newest.progress
    return item


def _to_document(item: Item) -> Document:
    _, agent_id, document_id = agent_keys.document.read_ids(item)
    document = DOCUMENT.unpack(item["body"], id=document_id, agent_id=agent_id, revision=item["revision"])
    if "progress_at" not in item or document.next is None:
        return document
    version = replace(document.next, progress=item["progress"], step=IngestionStep(item["progress_step"]))
    return replace(document, next=version, updated_at=max(document.updated_at, from_millis(item["progress_at"])))
