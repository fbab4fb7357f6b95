"""An agent over what a company has already: a database, an HTTP API and an MCP server."""

import os
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass

from pydantic import PositiveInt

from baton import Agent, HttpTool, McpServer, Refuse, ToolFailed, resource, tool

SERVICES = os.environ.get("SERVICES_URL", "http://127.0.0.1:8765")
"""The address of `services.py`."""


@dataclass(frozen=True)
class Stock:
    """The stock's database. Replace it by the pool of your driver."""

    connection: sqlite3.Connection


@resource
async def stock() -> AsyncIterator[Stock]:
    """Connect to the database, for the first tool that asks. The page and the HTTP API have a connection each."""
    # This database lives as long as a connection of this process. A deployment needs one that all processes reach.
    connection = sqlite3.connect("file:stock?mode=memory&cache=shared", uri=True, check_same_thread=False)
    try:
        with connection:
            connection.execute("CREATE TABLE IF NOT EXISTS articles (name TEXT PRIMARY KEY, pieces INTEGER NOT NULL)")
            connection.execute("INSERT OR IGNORE INTO articles VALUES ('lamp', 5)")
        yield Stock(connection)
    finally:
        connection.close()


@tool
async def pieces(article: str, stock: Stock) -> int:
    """Count the pieces in stock. article: such as lamp."""
    row = stock.connection.execute("SELECT pieces FROM articles WHERE name = ?", (article,)).fetchone()
    if row is None:
        raise ToolFailed(f"There is no article {article}.")
    return int(row[0])


@tool
async def reserve(article: str, count: PositiveInt, stock: Stock) -> int:
    """Reserve pieces, and count what is left. article: such as lamp. count: the number of pieces."""
    with stock.connection as connection:
        taken = connection.execute(
            "UPDATE articles SET pieces = pieces - :count WHERE name = :name AND pieces >= :count",
            {"name": article, "count": count},
        )
    if not taken.rowcount:
        raise ToolFailed(f"There are fewer than {count} pieces of {article}.")
    return await pieces(article, stock)


gateway = Agent(
    "gateway",
    prompt="You answer questions about the stock, prices in other currencies, and deliveries. Look up, never guess.",
    main=True,
    tools=[
        pieces,
        reserve,
        HttpTool(
            "exchange_rate",
            "The rate of a currency to the euro.",
            f"{SERVICES}/rates/{{currency}}",
            parameters={"type": "object", "properties": {"currency": {"type": "string"}}, "required": ["currency"]},
        ),
        McpServer(
            "couriers",
            f"{SERVICES}/mcp",
            include=["quote", "order"],
            requires_approval=["order"],
            label={"order": "Courier"},
            asks={"order": "Order a courier to {city}?"},
        ),
    ],
)


@gateway.before_tool
def few_at_once(name: str, arguments: dict[str, object]) -> Refuse | None:
    """Refuse large reservations."""
    count = arguments.get("count")
    if name == "reserve" and isinstance(count, int) and count > 3:
        return Refuse("At most three pieces at once.")
    return None
