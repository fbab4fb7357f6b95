"""The price of a month with memory and documents for 1,000 users: ``python -m benchmarks.month_cost``.

It multiplies what the other benchmarks count by AWS's list prices, for the table of ``docs/explanation/cost.md``. These
are the prices of us-east-1, without free tiers. Tokens of chat models are not in it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.instruments.report import table

TURN = 0.077 / 1_000
"""USD of a turn at AWS: the page's first table."""
CLOSING = 0.067 / 1_000
PANEL_HOUR = 0.030 / 1_000
"""USD of an hour of an open panel at rest: the page's table of panels."""
IDLE = 10.89
"""USD of a month without traffic: the page's second table."""
METRICS = 21
"""Metrics that occur while nothing fails, at 0.30 each."""
S3_WRITE, S3_READ = 5.00 / 1e6, 0.40 / 1e6
GB_SECOND = 13.3334 / 1e6
BUCKET_GB, TABLE_GB = 0.023, 0.25 + 0.20
"""USD for a GB and month: of S3, and of DynamoDB with its backup."""
TRANSITION = 25 / 1e6
EMBEDDING = 0.02 / 1e6
"""USD for a token of ``text-embedding-3-small``."""

READS_A_TURN = 2
"""Files that a turn asks S3 for: the user's conversations and the agent's documents."""
READS_A_CLOSING, WRITES_A_CLOSING = 4, 2
"""``python -m benchmarks.closing_cost``."""
CONVERSATION_BYTES = 60_000
"""By which a user's file grows with a conversation of three turns, ``benchmarks.closing_cost``."""
CHUNK_BYTES = 16_000
"""Of a chunk of documents, ``python -m benchmarks.embedded_search``."""
CHUNKS_AT_ONCE = 20
"""Chunks that an ingestion writes at once."""
TRANSITIONS_A_DOCUMENT = 14
TURN_BYTES = 5_000
"""Of a turn in the table: question, answer, and the records of the run and of the inspector."""
SEARCH_SECONDS = 0.15
"""Seconds by which searches make a turn longer: half of the turns fetch a file of some MB first."""
WRITE_SECONDS = 0.5
"""Seconds by which a closing is longer."""
QUERY_TOKENS, CONVERSATION_TOKENS, CHUNK_TOKENS = 100, 2_200, 600
"""Tokens that are embedded: of a question; of three turns, each in three views; of a chunk with its passages."""


@dataclass(frozen=True, slots=True)
class Month:
    """The use that a month is computed for."""

    users: int = 1_000
    conversations: int = 15
    """Of each user: three or four a week."""
    turns: int = 3
    """Questions of a conversation."""
    documents: int = 100
    chunks: int = 20
    """Of a document."""
    panel_minutes: int = 10
    """Minutes of each conversation for which the panel is open and visible."""
    months_stored: int = 12
    """Months whose conversations are stored. Storage is billed for all of them."""


@dataclass(frozen=True, slots=True)
class Item:
    """One row of the bill."""

    name: str
    count: str
    usd: float


def bill(month: Month) -> Sequence[Item]:
    """Return the rows of a month."""
    conversations = month.users * month.conversations
    turns = conversations * month.turns
    chunks = month.documents * month.chunks
    reads = turns * READS_A_TURN + conversations * READS_A_CLOSING
    writes = conversations * WRITES_A_CLOSING + chunks // CHUNKS_AT_ONCE
    hours = conversations * month.panel_minutes / 60
    seconds = turns * SEARCH_SECONDS * 1.0 + conversations * WRITE_SECONDS * 0.5
    index_gb = (conversations * CONVERSATION_BYTES * month.months_stored + chunks * CHUNK_BYTES) / 1e9
    table_gb = turns * TURN_BYTES * month.months_stored / 1e9
    tokens = turns * QUERY_TOKENS + conversations * CONVERSATION_TOKENS + chunks * CHUNK_TOKENS
    return [
        Item("a month without traffic", "as above", IDLE),
        Item("metrics written", f"{METRICS}", METRICS * 0.30),
        Item("turns", f"{turns:,}", turns * TURN),
        Item("closings", f"{conversations:,}", conversations * CLOSING),
        Item("open panels", f"{hours:,.0f} hours", hours * PANEL_HOUR),
        Item("reads of index files", f"{reads:,}", reads * S3_READ),
        Item("writes of index files", f"{writes:,}", writes * S3_WRITE),
        Item("Lambda for searches and writes", f"{seconds:,.0f} GB-seconds", seconds * GB_SECOND),
        Item("index files", f"{index_gb:.1f} GB", index_gb * BUCKET_GB),
        Item("conversations in the table", f"{table_gb:.1f} GB", table_gb * TABLE_GB),
        Item(
            "taking in documents",
            f"{month.documents:,} documents",
            month.documents * TRANSITIONS_A_DOCUMENT * TRANSITION,
        ),
        Item("embeddings", f"{tokens / 1e6:,.0f} million tokens", tokens * EMBEDDING),
    ]


def total(items: Sequence[Item]) -> float:
    """Return the sum of the rows as they are printed."""
    return sum(round(item.usd, 2) for item in items)


def main() -> None:
    """Print the table."""
    usual = Month()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.month_cost", description=__doc__)
    for name in ("users", "conversations", "turns", "documents", "chunks", "panel_minutes", "months_stored"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=getattr(usual, name))
    items = bill(Month(**vars(parser.parse_args())))
    rows = [(item.name, item.count, f"{item.usd:.2f}") for item in items]
    print(table(["with traffic", "count", "USD a month"], [*rows, ("**together**", "", f"**{total(items):.2f}**")]))


if __name__ == "__main__":
    main()
