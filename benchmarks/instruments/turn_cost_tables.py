"""The costs of turns and conversations, and tables of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from benchmarks.capacity import Request, count_by_operation
from benchmarks.instruments.prices import PriceList, read_prices
from benchmarks.instruments.report import format_table

BEGINNING = frozenset({"~CONN", "~THREAD"})
"""The kinds of items that only the beginning of a conversation writes: its connection, and the owner of its id."""
PRICED_TURNS = 100_000
"""The number of turns whose price is shown: a thousand conversations of a hundred turns."""


@dataclass(frozen=True, slots=True)
class TurnCost:
    """The requests of one turn, the frames of its client, and its time."""

    turn: int
    """The number of the turn in its conversation, from 1."""
    requests: tuple[Request, ...]
    s3_requests: int
    frames: int
    """The frames that the client received."""
    seconds: float
    cpu_seconds: float
    """CPU seconds of this process with all its threads, including the fake model's part."""
    model_cpu_seconds: float
    """The fake model's part of ``cpu_seconds``, measured by reading the same stream alone right after the turn."""

    @property
    def own_cpu_seconds(self) -> float:
        """Baton's own part of ``cpu_seconds``."""
        return self.cpu_seconds - self.model_cpu_seconds

    @property
    def write_units(self) -> float:
        return sum(request.write_units for request in self.requests)

    @property
    def read_units(self) -> float:
        return sum(request.read_units for request in self.requests)

    @property
    def read_requests(self) -> int:
        return sum(request.attempts for request in self.requests if request.reads)

    @property
    def storage_usd(self) -> float:
        """The list price of ``PRICED_TURNS`` such turns in DynamoDB and S3, in USD."""
        return PRICED_TURNS * compute_usd(self.write_units, self.read_units, self.s3_requests)

    @property
    def beginning_units(self) -> float:
        """The write units that only a new conversation or connection needs, including all units of indexes."""
        return sum(
            request.write_units if _is_of_beginning(request) else request.index_units
            for request in self.requests
            if not request.reads
        )

    def as_json(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "write_units": self.write_units,
            "beginning_write_units": self.beginning_units,
            "read_units": self.read_units,
            "read_requests": self.read_requests,
            "storage_usd": self.storage_usd,
            "own_cpu_seconds": self.own_cpu_seconds,
            "operations": count_by_operation(self.requests),
        }


@dataclass(frozen=True, slots=True)
class ConversationCost:
    """The requests of the first turns of a conversation, and of its titles and summaries."""

    turns: int
    requests: tuple[Request, ...]
    s3_requests: int

    @property
    def thousand_usd(self) -> float:
        """The list price of a thousand such conversations in DynamoDB and S3, in USD."""
        write_units = sum(request.write_units for request in self.requests)
        return 1_000 * compute_usd(write_units, sum(request.read_units for request in self.requests), self.s3_requests)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "thousand_usd": self.thousand_usd}


def format_conversation(cost: ConversationCost) -> str:
    """Return a table of a conversation's requests by operation and kind of item, and of its price."""
    kinds = sorted({(request.operation, request.target) for request in cost.requests})
    rows: list[tuple[object, ...]] = []
    for operation, target in kinds:
        of_kind = [request for request in cost.requests if (request.operation, request.target) == (operation, target)]
        units = sum(request.write_units for request in of_kind), sum(request.read_units for request in of_kind)
        rows.append((f"{operation} {target}", len(of_kind), *units, f"{1_000 * compute_usd(*units):.4f}"))
    rows.append(("S3", cost.s3_requests, 0, 0, f"{1_000 * compute_usd(0, 0, cost.s3_requests):.4f}"))
    totals = (sum(row[column] for row in rows) for column in (1, 2, 3))  # type: ignore[misc]
    rows.append(("together", *totals, f"{cost.thousand_usd:.4f}"))
    return format_table(["", "requests", "write units", "read units", "USD for 1,000 conversations"], rows)


def format_turns(costs: Iterable[TurnCost]) -> str:
    """Return a table of the costs of turns, with one column per turn."""
    costs = list(costs)
    operations = sorted({name for cost in costs for name in count_by_operation(cost.requests)})
    rows: list[tuple[str, Sequence[object]]] = [
        ("write units", [cost.write_units for cost in costs]),
        ("- of these, to begin the thread", [cost.beginning_units for cost in costs]),
        ("- the turn itself", [cost.write_units - cost.beginning_units for cost in costs]),
        ("read units", [cost.read_units for cost in costs]),
        ("read requests", [cost.read_requests for cost in costs]),
        *((name, [count_by_operation(cost.requests).get(name, 0) for cost in costs]) for name in operations),
        ("requests in all", [sum(count_by_operation(cost.requests).values()) for cost in costs]),
        ("refused writes", [sum(request.refused for request in cost.requests) for cost in costs]),
        ("S3 requests", [cost.s3_requests for cost in costs]),
        (f"USD for {PRICED_TURNS:,} such turns", [f"{cost.storage_usd:.2f}" for cost in costs]),
        ("WebSocket frames", [cost.frames for cost in costs]),
        ("duration, seconds", [cost.seconds for cost in costs]),
        ("CPU, ms", [cost.own_cpu_seconds * 1000 for cost in costs]),
        ("- ratio to CPU of the stand-in", [f"{cost.own_cpu_seconds / cost.model_cpu_seconds:.2f}" for cost in costs]),
    ]
    return format_table(["", *(f"turn {cost.turn:,}" for cost in costs)], [(name, *cells) for name, cells in rows])


def format_beginning(first: TurnCost, new_hour: TurnCost) -> str:
    """Return a table of a conversation's write units besides its turns: those that occur once, or in a new hour."""
    writes = [request for request in first.requests if not request.reads]
    owner = sum(request.write_units for request in writes if request.target == "~THREAD")
    attached = sum(
        request.write_units
        for request in writes
        if request.target == "~CONN" or (request.target, request.operation) == ("LIVE", "PutItem")
    )
    indexes = sum(request.index_units for request in writes if request.target == "THREAD")
    moved = sum(request.index_units for request in new_hour.requests if request.target == "THREAD")
    return format_table(
        ["once", "write units"],
        [
            ("a thread: the item of its owner, with the tenant's listing", owner),
            ("a thread: its entries in the user's listing and the idle index", indexes),
            ("a connection to a thread: an item in each direction, a count", attached),
            ("an hour of activity: the thread moves up in the listing", moved),
        ],
    )


def format_requests(requests: Sequence[Request]) -> str:
    """Return a table of requests, in order."""
    rows = [
        (
            f"{number} {request.operation} {request.target}" + (" (refused)" if request.refused else ""),
            request.write_units or "",
            request.read_units or "",
            request.index_units or "",
            request.item_bytes or "",
        )
        for number, request in enumerate(requests, start=1)
    ]
    return format_table(["request", "write units", "read units", "in indexes", "item bytes"], rows)


def compute_usd(write_units: float, read_units: float, s3_requests: int = 0, s3_reads: int = 0) -> float:
    """Return the list price in USD. ``s3_requests`` cost as much as writes, ``s3_reads`` as gets."""
    units = {"write_unit": write_units, "read_unit": read_units, "s3_write": s3_requests, "s3_read": s3_reads}
    return _read_prices().sum(units)


@cache
def _read_prices() -> PriceList:
    return read_prices()


def _is_of_beginning(request: Request) -> bool:
    """Return whether only a new conversation or connection makes a request."""
    return request.target in BEGINNING or (request.target, request.operation) == ("LIVE", "PutItem")
