"""The base classes of stores on a table."""

from __future__ import annotations

from baton.adapters.dynamodb.table import Table
from baton.ports.clock import Clock


class TableStore:
    """Records of one kind on a table."""

    def __init__(self, table: Table) -> None:
        self._table = table


class TimedTableStore(TableStore):
    """Records that hold times, or that expire."""

    def __init__(self, table: Table, clock: Clock) -> None:
        super().__init__(table)
        self._clock = clock
