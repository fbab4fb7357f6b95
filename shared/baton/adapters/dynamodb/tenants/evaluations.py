"""Evaluations on DynamoDB: a small item for lists, and one with the details."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from baton.adapters.dynamodb import agent_keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.bodies import pack, unpack
from baton.adapters.dynamodb.shards import make_page
from baton.adapters.dynamodb.table_stores import TimedTableStore
from baton.domain.cursors import decode_text, encode_text
from baton.domain.errors import InvalidRequest
from baton.domain.tenants.evaluation import EVALUATION_ID, Evaluation, EvaluationEntry
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis

_TIMES = ("began_at", "published_at")
_ATTRIBUTES = ("agent_id", "agent_version", "not_run", "passes")
"""Fields that are stored outside the body, because an earlier release fails for unknown fields in the body."""


class DynamoEvaluations(TimedTableStore):
    """``EvaluationStore`` on the conversation table."""

    async def put(self, scope: Scope, evaluation: Evaluation) -> bool:
        entry = evaluation.entry
        expires_at = int(entry.expires_at.timestamp())
        names = [field.name for field in fields(EvaluationEntry) if field.name not in ("id", *_ATTRIBUTES)]
        packed = {name: to_millis(getattr(entry, name)) if name in _TIMES else getattr(entry, name) for name in names}
        entry_item: Item = {**agent_keys.evaluation(scope, entry.id), "body": pack(packed), "expires_at": expires_at}
        entry_item |= {name: getattr(entry, name) for name in _ATTRIBUTES}
        details: Item = {
            **agent_keys.evaluation_details(scope, entry.id),
            "body": pack(evaluation.details),
            "expires_at": expires_at,
        }
        return await self._table.add(entry_item, details)

    async def get(self, scope: Scope, evaluation_id: str) -> Evaluation | None:
        entry_item = await self._table.get(agent_keys.evaluation(scope, evaluation_id))
        details = await self._table.get(agent_keys.evaluation_details(scope, evaluation_id))
        if entry_item is None or details is None:
            return None
        entry = _to_entry(entry_item)
        return Evaluation(entry, unpack(details["body"])) if self._is_kept(entry) else None

    async def page(
        self, scope: Scope, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[EvaluationEntry], str | None]:
        before = decode_text(cursor) if cursor else None
        if before is not None and not EVALUATION_ID.fullmatch(before):
            raise InvalidRequest("cursor was not handed out by this list.")
        last = f"{agent_keys.EVALUATION}{before or '~'}"
        entries: list[EvaluationEntry] = []
        async for items in self._table.query(
            agent_keys.evaluations(scope), first=agent_keys.EVALUATION, last=last, newest_first=True, limit=limit + 2
        ):
            entries += [entry for entry in map(_to_entry, items) if entry.id != before and self._is_kept(entry)]
            if len(entries) > limit:
                break
        return make_page(entries, limit, lambda entry: encode_text(entry.id))

    async def remove(self, scope: Scope, evaluation_id: str) -> None:
        # The details first: without them the entry is still listed, so that a repetition finds it.
        await self._table.delete(agent_keys.evaluation_details(scope, evaluation_id))
        await self._table.delete(agent_keys.evaluation(scope, evaluation_id))

    def _is_kept(self, entry: EvaluationEntry) -> bool:
        return entry.expires_at > self._clock.now()


def _to_entry(item: Item) -> EvaluationEntry:
    values = unpack(item["body"])
    times = {name: from_millis(values[name]) for name in _TIMES}
    values |= times | {name: item[name] for name in _ATTRIBUTES if name in item}
    values["id"] = item["SK"].removeprefix(agent_keys.EVALUATION)
    names = {field.name for field in fields(EvaluationEntry)}  # a later release may have added others
    return EvaluationEntry(**{name: value for name, value in values.items() if name in names})
