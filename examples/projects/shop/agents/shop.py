"""A shop: an assistant that looks up orders, and two desks whose people decide what it may not."""

from decimal import Decimal

from baton import Agent, Desk, Handoff, ToolFailed, tool

ORDERS = {"A-1001": ("a lamp", Decimal("59.90"), "delivered"), "A-1002": ("a teapot", Decimal("12.00"), "on its way")}
"""The article, the total in euros and the state of each order."""


def find_total(number: str) -> Decimal:
    """Return the total of an order, in euros. Raises ``ToolFailed`` for an unknown order."""
    if number not in ORDERS:
        raise ToolFailed(f"There is no order {number}. Ask the customer for the number on the invoice.")
    return ORDERS[number][1]


@tool
async def find_order(number: str) -> dict[str, str]:
    """Look an order up. number: the order's number, such as A-1001."""
    total = find_total(number)
    article, _, state = ORDERS[number]
    return {"number": number, "article": article, "euros": str(total), "state": state}


@tool(approval="always", asks="Refund {euros} euros of the order {number}?", label="Refund")
async def refund(number: str, euros: Decimal) -> dict[str, str]:
    """Refund an order. number: the order's number. euros: at most the order's total."""
    if not 0 < euros <= find_total(number):
        raise ToolFailed(f"{number} was paid with {find_total(number)} euros: refund at most that.")
    return {"number": number, "euros": str(euros)}


support = Desk(
    "support",
    name="Support team",
    description="People who decide about complaints and refunds.",
    triggers=["talk to a human", "speak to a person", "real person"],
    wait_minutes=10,
    silence_minutes=30,
)

workshop = Desk(
    "workshop",
    name="Workshop",
    description="People who repair what was bought. Mondays to Fridays.",
    triggers=["is broken", "repair"],
    permission="desk:workshop",
    hours={"zone": "Europe/Vienna", "week": {"mon-fri": "09:00-17:00"}, "except": {"2026-12-25": "closed"}},
)

shop = Agent(
    "shop",
    "You help the customers of a small shop. Look orders up before you speak about them. You may not decide about "
    "complaints: hand those over to the Support team. Refund only what a person of the team has agreed to.",
    name="Shop assistant",
    main=True,
    tools=[find_order, refund],
    handoffs=[
        Handoff(support, context_mode="recent", reason="The customer complains, or asks for a person."),
        Handoff(workshop, reason="Something that the customer has bought does not work."),
    ],
)
