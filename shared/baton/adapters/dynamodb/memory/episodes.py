"""Episodes on DynamoDB, in the partition of their thread, listed by user and by tenant."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from functools import partial

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.bodies import BodyStore, pack, unpack
from baton.adapters.dynamodb.conditional_writes import put_fenced
from baton.adapters.dynamodb.shapes import FACT, PERSON, Shape
from baton.adapters.dynamodb.shards import read_batches, read_newest_first, read_page
from baton.adapters.dynamodb.table import AT_ONCE, get_key
from baton.adapters.dynamodb.writes import ConditionFailed
from baton.concurrency.tasks import gather_all, off_loop
from baton.domain.memory.episode import (
    MAX_ATTEMPTS,
    EndedSession,
    Episode,
    EpisodePart,
    EpisodeRef,
    EpisodeStatus,
    Fact,
)
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.threads.leases import Lease

_EPISODE = Shape(Episode)
_REF = Shape(EpisodeRef)
_PART = {EpisodePart.SUMMARY: "has_summary", EpisodePart.FACTS: "has_facts", EpisodePart.INDEX: "has_index"}


class DynamoEpisodes(BodyStore):
    """``Episodes`` on the conversation table, with long redacted messages in S3.

    A session's record becomes its episode. A second item, in a separate partition, maps the episode's id to the record
    and lists it for the tenant.
    """

    async def begin(self, lease: Lease, ref: EpisodeRef) -> None:
        item: Item = {
            **keys.episode(lease.scope, ref.thread_id, ref.number),
            "first_ordinal": ref.first_ordinal,
            "end_ordinal": ref.end_ordinal,
            "reason": ref.reason.value,
            "ended_at": to_millis(ref.ended_at),
            "episode_status": EpisodeStatus.PENDING.value,
            "thread_created_at": to_millis(ref.thread_created_at) if ref.thread_created_at is not None else None,
        }
        if ref.closed_by is not None:
            item["closed_by"] = PERSON.as_json(ref.closed_by)
        if ref.desk_id is not None:
            item["desk_id"] = ref.desk_id
        place_item: Item = {
            **keys.episode_place(lease.scope, ref.id, ref.thread_id, ref.number),
            "user_id": lease.scope.user_id,
            "listing": keys.tenant_episodes.of(lease.scope, ref.id),
            "listed_at": _make_listing_key(ref),
        }
        await gather_all(put_fenced(self._table, lease, item), put_fenced(self._table, lease, place_item))

    async def get_ref(self, scope: Scope, thread_id: str, number: int) -> EpisodeRef | None:
        return await self._table.read(keys.episode(scope, thread_id, number), partial(_to_ref, thread_id, number))

    async def find_ended(self, scope: Scope, thread_id: str, number: int) -> EndedSession | None:
        return await self._table.read(
            keys.episode(scope, thread_id, number),
            lambda item: EndedSession(_to_ref(thread_id, number, item), _to_episode_or_none(item)),
        )

    async def find(self, scope: Scope, episode_id: str) -> EpisodeRef | None:
        for item in await self._table.read_all(keys.episode_places(scope, episode_id), limit=1, enough=1):
            if item["user_id"] == scope.user_id:
                return await self.get_ref(scope, *_locate_record(item))
        return None

    async def get(self, scope: Scope, thread_id: str, number: int) -> Episode | None:
        return await self._table.read(keys.episode(scope, thread_id, number), _to_episode_or_none)

    async def put_redaction(self, scope: Scope, thread_id: str, ordinal: int, text: str) -> None:
        packed = await off_loop(len(text), pack, text)
        body = await self._bodies.store(scope, thread_id, packed)
        await self._table.put({**keys.redaction(scope, thread_id, ordinal), **body})

    async def read_redactions(
        self, scope: Scope, thread_id: str, *, first_ordinal: int, end_ordinal: int
    ) -> Mapping[int, str]:
        texts: dict[int, str] = {}
        if first_ordinal < end_ordinal:
            async for page in self._table.query(
                keys.partition(scope, thread_id),
                first=keys.redaction.make_sort_key(first_ordinal),
                last=keys.redaction.make_sort_key(end_ordinal - 1),
            ):
                for item in page:
                    body = await self._bodies.read(scope, thread_id, item)
                    # Unpacking takes as long as work on about four times the size.
                    texts[keys.redaction.read_number(item)] = await off_loop(len(body) * 4, unpack, body)
        return texts

    async def store(self, scope: Scope, episode: Episode) -> Episode | None:
        values: Item = {
            ":user": scope.user_id,
            ":agents": list(episode.agent_ids),
            ":started": to_millis(episode.started_at),
            ":count": episode.message_count,
            ":input": episode.usage.input_tokens,
            ":output": episode.usage.output_tokens,
            ":listing": keys.user_episodes(scope),
            ":listed": _make_listing_key(episode.ref),
            ":none": {},
        }
        zone = ""
        if episode.time_zone is not None:
            zone, values[":zone"] = ", time_zone = :zone", episode.time_zone
        return await self._change(
            scope,
            episode.ref,
            "SET agent_ids = :agents, started_at = :started, message_count = :count, input_tokens = :input, "
            "output_tokens = :output, user_id = :user, listing = :listing, listed_at = :listed, "
            f"superseded = if_not_exists(superseded, :none){zone}",
            values,
        )

    async def describe(
        self, scope: Scope, ref: EpisodeRef, summary: str | None, facts: Sequence[Fact]
    ) -> Episode | None:
        values: Item = {":facts": _pack(facts), ":true": True}
        expression = f"SET facts = :facts, has_summary = :true{'' if facts else ', has_facts = :true'}"
        if summary is not None:
            expression += ", summary = :summary"
            values[":summary"] = summary
        return await self._change(
            scope, ref, f"{expression} REMOVE has_index", values, condition=" AND attribute_not_exists(has_summary)"
        )

    async def keep_facts(self, scope: Scope, ref: EpisodeRef, facts: Sequence[Fact]) -> Episode | None:
        return await self._change(
            scope,
            ref,
            "SET facts = :facts, has_facts = :true REMOVE has_index",
            {":facts": _pack(facts), ":true": True},
            condition=" AND attribute_not_exists(has_facts)",
        )

    async def supersede(
        self, scope: Scope, thread_id: str, number: int, fact_id: str, *, by: str, at: datetime
    ) -> None:
        if re.fullmatch(r"fact_[0-9a-f]{32}", fact_id) is None:  # the expression contains it as a name
            return
        await self._table.change(
            keys.episode(scope, thread_id, number),
            f"SET superseded.{fact_id} = if_not_exists(superseded.{fact_id}, :mark)",
            {":mark": {"by": by, "at": to_millis(at)}, ":user": scope.user_id},
            condition="attribute_exists(superseded) AND user_id = :user",
        )

    async def mark(self, scope: Scope, ref: EpisodeRef, part: EpisodePart) -> Episode | None:
        return await self._change(scope, ref, f"SET {_PART[part]} = :true", {":true": True})

    async def complete(self, scope: Scope, ref: EpisodeRef) -> Episode | None:
        return await self._change(
            scope,
            ref,
            "SET episode_status = :complete, attempts = if_not_exists(attempts, :zero) + :one",
            {":complete": EpisodeStatus.COMPLETE.value, ":zero": 0, ":one": 1},
            condition=" AND attribute_exists(started_at)",
        )

    async def fail(self, scope: Scope, ref: EpisodeRef) -> None:
        await self._table.change(
            keys.episode(scope, ref.thread_id, ref.number),
            "SET episode_status = :failed",
            {":failed": EpisodeStatus.FAILED.value, ":pending": EpisodeStatus.PENDING.value},
            condition="episode_status = :pending",
        )

    async def of_user(self, scope: Scope, *, limit: int, cursor: str | None) -> tuple[Sequence[Episode], str | None]:
        entries, next_cursor = await read_page(self._table, [keys.user_episodes(scope)], limit=limit, cursor=cursor)
        episodes = await self._load([get_key(entry) for entry in entries])
        return [episode for episode in episodes if episode.user_id == scope.user_id], next_cursor

    async def of_tenant(self, scope: Scope) -> AsyncIterator[Episode]:
        listed = read_newest_first(self._table, keys.tenant_episodes(scope), before=None, limit=8 * AT_ONCE)
        async with aclosing(listed):
            async for batch in read_batches(listed, AT_ONCE, oldest=""):
                for episode in await self._load([keys.episode(scope, *_locate_record(entry)) for entry in batch]):
                    yield episode

    async def _load(self, item_keys: Sequence[dict[str, str]]) -> list[Episode]:
        """Return the stored episodes among the records, in their order."""
        items = {(item["PK"], item["SK"]): item for item in await self._table.get_many(item_keys)}
        listed = [items[position] for key in item_keys if (position := (key["PK"], key["SK"])) in items]
        return [episode for episode in map(_to_episode_or_none, listed) if episode is not None]

    async def _change(
        self, scope: Scope, ref: EpisodeRef, expression: str, values: Item, *, condition: str = ""
    ) -> Episode | None:
        """Update the record if it exists and ``condition``, which begins with ``AND``, holds.

        Return the record's episode, if there is one.
        """
        try:
            item = await self._table.update(
                keys.episode(scope, ref.thread_id, ref.number),
                expression,
                values,
                condition=f"attribute_exists(PK){condition}",
            )
        except ConditionFailed as failure:
            return _to_episode_or_none(failure.item) if failure.item is not None else None
        return _to_episode_or_none(item)


def is_settled(item: Item) -> bool:
    """Return whether the closing pipeline need not run again for a record."""
    return (
        "started_at" in item
        and item["episode_status"] == EpisodeStatus.COMPLETE.value
        and (all(item.get(name) for name in _PART.values()) or item.get("attempts", 0) >= MAX_ATTEMPTS)
    )


def _to_episode_or_none(item: Item) -> Episode | None:
    """Return the episode of a record; None if the record has no episode yet."""
    return _to_episode(item) if "started_at" in item else None


def _make_listing_key(ref: EpisodeRef) -> str:
    return f"{to_millis(ref.ended_at):015d}#{ref.id}"


def _locate_record(item: Item) -> tuple[str, int]:
    """Return the thread and number of a record, from the key of the item that maps to it."""
    _, thread_id, number = item["SK"].split("#")
    return thread_id, int(number)


def _pack(facts: Sequence[Fact]) -> bytes:
    return pack([FACT.as_json(fact) for fact in facts])


def _read_facts(item: Item) -> tuple[Fact, ...]:
    """Return the facts of a record, with the marks of superseded facts."""
    superseded = item.get("superseded", {})
    facts: list[Fact] = []
    for body in unpack(item["facts"]) if "facts" in item else ():
        fact = FACT.of_json(body)
        mark = superseded.get(fact.id)
        if mark is not None:
            fact = replace(fact, superseded_at=from_millis(int(mark["at"])), superseded_by=mark["by"])
        facts.append(fact)
    return tuple(facts)


def _to_episode(item: Item) -> Episode:
    thread_id, number = item["PK"].partition("#")[2], keys.episode.read_number(item)
    return _EPISODE.of_json(
        item,
        ref=_to_ref(thread_id, number, item),
        status=item["episode_status"],
        usage=Usage(item["input_tokens"], item["output_tokens"]),
        facts=_read_facts(item),
        parts=[part for part, name in _PART.items() if item.get(name)],
    )


def _to_ref(thread_id: str, number: int, item: Item) -> EpisodeRef:
    return _REF.of_json(item, thread_id=thread_id, number=number)
