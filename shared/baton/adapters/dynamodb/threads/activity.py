"""Counts of activity on DynamoDB: one small item for each counter, replaced under the condition of its revision."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from botocore.exceptions import ClientError

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.conditional_writes import make_revision_condition
from baton.adapters.dynamodb.table_stores import TimedTableStore
from baton.adapters.dynamodb.writes import ConditionFailed
from baton.domain.tenants.activity import Activity, Counter, Place, ThreadUse
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis
from baton.ports.tenants.tenants import Change, CountsTooLarge

KEPT_SECONDS = 2 * 86_400
"""Seconds until an item expires: longer than the day whose tokens are counted, and than any place lasts."""


class DynamoActivityCounts(TimedTableStore):
    """``ActivityCounts`` on the conversation table."""

    async def get(self, scope: Scope, counter: Counter) -> Activity:
        return _to_activity(await self._table.get(keys.activity(scope, counter.user, counter.kind), consistent=False))

    async def change(self, scope: Scope, counter: Counter, change: Change, *, known: Activity | None = None) -> bool:
        key = keys.activity(scope, counter.user, counter.kind)
        activity = known if known is not None else await self.get(scope, counter)
        async for attempt in self._table.pace_attempts():
            if attempt:  # others have changed the counts again during the pause
                activity = _to_activity(await self._table.get(key))
            changed = await change(activity)
            if changed is activity:
                return True
            try:
                await self._table.put(
                    key | self._make_item(activity, changed), **make_revision_condition(activity.revision)
                )
            except ConditionFailed:
                continue
            except ClientError as error:
                details = error.response["Error"]
                # "Item size has exceeded the maximum allowed size": 400 KB.
                if details["Code"] == "ValidationException" and "size" in details.get("Message", ""):
                    raise CountsTooLarge from None
                raise
            else:
                return True
        return False

    async def threads(self, scope: Scope, thread_ids: Collection[str]) -> Mapping[str, ThreadUse]:
        uses = await self._read_uses(scope, thread_ids, consistent=False)
        # A new thread may not be visible without consistency.
        missing = [thread_id for thread_id in thread_ids if thread_id not in uses]
        return {**uses, **await self._read_uses(scope, missing, consistent=True)}

    async def _read_uses(
        self, scope: Scope, thread_ids: Collection[str], *, consistent: bool
    ) -> Mapping[str, ThreadUse]:
        """Return the uses of the threads that exist, by their ids."""
        thread_keys = [keys.thread(scope, thread_id) for thread_id in thread_ids]
        items = await self._table.get_many(thread_keys, consistent=consistent)
        return {
            keys.thread_id_of(scope, item): ThreadUse(
                fence=item.get("fence", 0),
                lease_until=from_millis(item["lease_until"]) if "lease_until" in item else None,
                tokens=item.get("input_tokens", 0) + item.get("output_tokens", 0),
            )
            for item in items
        }

    def _make_item(self, before: Activity, changed: Activity) -> Item:
        return {
            "revision": before.revision + 1,
            "minute": changed.minute,
            "messages": changed.messages,
            "messages_of": dict(changed.messages_of),
            "day": changed.day,
            "tokens": changed.tokens,
            "tokens_of": dict(changed.tokens_of),
            **({"starts_of": dict(changed.starts_of)} if changed.starts_of else {}),
            "places": {
                name: [slot.user, slot.until, slot.run, slot.fence, slot.tokens]
                for name, slot in changed.places.items()
            },
            "expires_at": int(self._clock.now().timestamp()) + KEPT_SECONDS,
        }


def _to_activity(item: Item | None) -> Activity:
    if item is None:
        return Activity()
    return Activity(
        revision=item["revision"],
        minute=item["minute"],
        messages=item["messages"],
        messages_of={user: int(count) for user, count in item["messages_of"].items()},
        day=item["day"],
        tokens=item["tokens"],
        tokens_of={user: int(count) for user, count in item["tokens_of"].items()},
        starts_of={tag: int(count) for tag, count in item.get("starts_of", {}).items()},
        places={
            name: Place(user, int(until), run, int(fence), int(tokens))
            for name, (user, until, run, fence, tokens) in item["places"].items()
        },
    )
