"""Bulk writes, of which every item is looked at."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baton.adapters.opensearch.engine import Engine, error_of

logger = logging.getLogger(__name__)

MAX_BYTES = 900_000
"""Bytes of one body. Longer ones would hold up the event loop while they are sent. A larger document goes alone."""
MAX_OPERATIONS = 1000


@dataclass(frozen=True, slots=True)
class Operation:
    """One action of a bulk request."""

    action: Mapping[str, Any]
    """``{"index": {...}}``, ``{"create": {...}}`` or ``{"delete": {...}}``."""
    source: Mapping[str, Any] | None = None

    @property
    def lines(self) -> list[Mapping[str, Any]]:
        return [self.action] if self.source is None else [self.action, self.source]


async def bulk(
    engine: Engine, operations: Sequence[Operation], *, accepted: frozenset[int] = frozenset(), refresh: str = "false"
) -> list[int]:
    """Execute the operations and return the status of each.

    ``refresh`` is that of the last request only. It makes all operations visible that go to the same shard.
    Operations that a full queue refuses are repeated within a bound. Raises ``EngineError`` for the first other failure
    whose status is not in ``accepted``; the other operations have been executed then.
    """
    statuses: list[int] = []
    parts = list(_parts(operations))
    for number, part in enumerate(parts, start=1):
        statuses += await _execute(engine, part, accepted, refresh if number == len(parts) else "false")
    return statuses


async def _execute(
    engine: Engine, operations: Sequence[Operation], accepted: frozenset[int], refresh: str
) -> list[int]:
    statuses = [0] * len(operations)
    open_places = list(range(len(operations)))
    attempt = 0
    while open_places:
        attempt += 1
        lines = [line for open_place in open_places for line in operations[open_place].lines]
        answer = await engine.lines("/_bulk", lines, refresh=refresh)
        refused: list[int] = []
        failure = None
        for open_place, item in zip(open_places, answer["items"], strict=True):
            [result] = item.values()
            status = statuses[open_place] = result["status"]
            if status < 300 or status in accepted:
                continue
            error = error_of(status, result.get("error"))
            if status == 429:
                refused.append(open_place)
                last_refusal = error
            elif failure is None:
                failure = error
        if failure is not None:
            logger.warning("A bulk operation failed: %s", failure)
            raise failure
        if refused and not await engine.pause(attempt):
            raise last_refusal
        open_places = refused
    return statuses


def _parts(operations: Sequence[Operation]) -> Iterator[Sequence[Operation]]:
    part: list[Operation] = []
    size = 0
    for operation in operations:
        length = sum(len(json.dumps(line)) + 1 for line in operation.lines)
        if part and (size + length > MAX_BYTES or len(part) >= MAX_OPERATIONS):
            yield part
            part, size = [], 0
        part.append(operation)
        size += length
    if part:
        yield part
