"""The support of a small shop."""

from decimal import Decimal

from pydantic import BaseModel

from baton import Agent, CallContext, Handoff, ToolFailed, tool

PAID = {"A-1001": Decimal("59.90"), "A-1002": Decimal("12.00")}


class Receipt(BaseModel):
    number: str
    euros: Decimal
    refunded_by: str


class Answer(BaseModel):
    text: str
    order: str | None
    is_solved: bool


@tool(approval="always")
async def refund(number: str, euros: Decimal, context: CallContext) -> Receipt:
    """Refund an order. number: the order's number. euros: at most the order's total."""
    if not 0 < euros <= PAID.get(number, 0):
        raise ToolFailed(f"{number} was paid with {PAID.get(number, 0)} euros: refund at most that.")
    return Receipt(number=number, euros=euros, refunded_by=context.user)


faq = Agent(
    "faq",
    name="FAQ",
    prompt="Answer from the documents that are retrieved, in one or two sentences. Say so if they do not help.",
    description="Knows how the shop sends goods and takes them back.",
)

repairs = Agent(
    "repairs",
    name="Repair Desk",
    prompt="You are the Repair Desk. Ask for the article and for its fault, and return to the main agent then.",
    description="Arranges repairs.",
    triggers=["is broken", "repair"],
)

support = Agent(
    "support",
    description="Helps the customers of a small shop.",
    prompt="You help the customers of a small shop. Ask FAQ about rules. Refund only if the customer asks for it.",
    main=True,
    tools=[refund],
    sub_agents=[faq],
    handoffs=[Handoff(repairs, reason="Something that the customer has bought does not work.")],
    output_type=Answer,
)
