"""A restaurant: the host welcomes guests, and the booking desk leads them through a booking."""

from pydantic import BaseModel, Field, PositiveInt

from baton import Agent, CallContext, Handoff, State, TurnContext, Workflow, tool

FREE = {"window": 2, "garden": 6, "hall": 12}
"""Seats of the tables that are free."""


class Party(BaseModel):
    people: int = Field(ge=1, le=12)
    day: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")


class Table(BaseModel):
    table: str = Field(min_length=1)


@tool
async def find_tables(people: PositiveInt, context: CallContext) -> list[str]:
    """Find tables that are free. people: the number of guests."""
    tables = []
    for number, (table, seats) in enumerate(FREE.items(), start=1):
        await context.progress(f"{number} of {len(FREE)}: {table}")
        if seats >= people:
            tables.append(table)
    context.state["offered"] = tables
    return tables


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
            State("TABLE", "Your table", instructions="Call find_tables, and let the guest choose.", collects=Table),
            State("DONE", "Booked", final=True),
        ],
    ),
)

host = Agent(
    "host",
    prompt="You welcome the guests of a small restaurant.",
    main=True,
    tools=[offered_tables],
    handoffs=[Handoff(booking, context_mode="recent", reason="The guest wants a table.")],
)


@host.prompt
def about_the_guest(context: TurnContext) -> str | None:
    """Remind the host of the tables that were offered before."""
    if offered := context.state.get("offered"):
        return f"Tables that this guest was offered: {', '.join(offered)}."
    return None
