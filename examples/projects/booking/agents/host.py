"""A restaurant: the host welcomes guests, and the booking desk leads them through a booking."""

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import date

from pydantic import BaseModel, Field, PositiveInt

from baton import Agent, CallContext, Handoff, Refuse, State, TurnContext, Workflow, resource, tool

TABLES = {"window": 2, "garden": 6, "hall": 12}
"""The seats of each table."""


@dataclass(frozen=True)
class Bookings:
    """The restaurant's bookings. Replace it by the pool of your driver."""

    connection: sqlite3.Connection


@resource
async def bookings() -> AsyncIterator[Bookings]:
    """Connect to the database, for the first tool that asks. The page and the HTTP API have a connection each."""
    # This database lives as long as a connection of this process. A deployment needs one that all processes reach.
    connection = sqlite3.connect("file:bookings?mode=memory&cache=shared", uri=True, check_same_thread=False)
    try:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS bookings (number INTEGER PRIMARY KEY, key TEXT UNIQUE, day TEXT, name TEXT, "
            "people INTEGER, guest TEXT, UNIQUE (day, name))"
        )
        yield Bookings(connection)
    finally:
        connection.close()


class Party(BaseModel):
    people: int = Field(ge=1, le=12)
    day: date


class Choice(BaseModel):
    table: str = Field(pattern="^(window|garden|hall)$")


@tool
async def find_tables(people: PositiveInt, context: CallContext) -> list[str]:
    """Find tables that are large enough. people: the number of guests."""
    tables = []
    for number, (table, seats) in enumerate(TABLES.items(), start=1):
        await context.progress(f"{number} of {len(TABLES)}: {table}")
        if seats >= people:
            tables.append(table)
    context.state["offered"] = tables
    return tables


@tool(label="Table booking")
async def book_table(
    people: PositiveInt, day: date, table: str, context: CallContext, bookings: Bookings
) -> str | Refuse:
    """Book a table. Baton calls it once the guest has chosen, with what the steps have collected."""
    # The key is the same if the call is repeated after a crash or a time-out: the booking is made once.
    values = (context.idempotency_key, day.isoformat(), table, people, context.user)
    with bookings.connection as connection:
        connection.execute(
            "INSERT OR IGNORE INTO bookings (key, day, name, people, guest) VALUES (?, ?, ?, ?, ?)", values
        )
        row = connection.execute("SELECT number FROM bookings WHERE key = ?", values[:1]).fetchone()
    if row is None:
        return Refuse(f"The {table} table is taken on {day}.", state="TABLE")
    return f"Booking {row[0]}: the {table} table on {day} for {people}."


@tool
async def my_bookings(context: CallContext, bookings: Bookings) -> list[str]:
    """List the guest's bookings."""
    rows = bookings.connection.execute(
        "SELECT number, name, day FROM bookings WHERE guest = ? ORDER BY number", (context.user,)
    )
    return [f"{number}: {table} on {day}" for number, table, day in rows]


@tool
async def offered_tables(context: CallContext) -> list[str]:
    """List the tables that this conversation has offered before."""
    offered: list[str] = context.state.get("offered", [])
    return offered


booking = Agent(
    "booking",
    prompt="You are the Booking Desk. Ask one thing at a time. Once you know what the step needs, call "
    "advance_workflow with it.",
    name="Booking Desk",
    description="Books tables, step by step.",
    tools=[find_tables],
    triggers=["book table"],
    workflow=Workflow(
        "booking",
        title="your table for {people}",
        untitled="your booking",
        states=[
            State("PARTY", "Your party", instructions="Ask for the day and the number of guests.", collects=Party),
            State("TABLE", "Your table", instructions="Call find_tables, and let the guest choose.", collects=Choice),
            State("DONE", "Booked", final=True),
        ],
        on_complete=book_table,
    ),
)

host = Agent(
    "host",
    prompt="You welcome the guests of a small restaurant.",
    main=True,
    tools=[offered_tables, my_bookings],
    handoffs=[Handoff(booking, context_mode="recent", reason="The guest wants a table.")],
)


@host.prompt
def about_the_guest(context: TurnContext) -> str | None:
    """Remind the host of the tables that were offered before."""
    if offered := context.state.get("offered"):
        return f"Tables that this guest was offered: {', '.join(offered)}."
    return None
