"""The support of a small shop."""

from decimal import Decimal

from pydantic import BaseModel

from baton import Agent, CallContext, Handoff, Refuse, ToolFailed, tool

PAID = {"A-1001": Decimal("59.90"), "A-1002": Decimal("12.00")}


class Answer(BaseModel):
    text: str
    is_solved: bool


@tool(approval="always", asks="Refund {euros} euros of the order {number}?", label="Refund")
async def refund(number: str, euros: Decimal, context: CallContext) -> dict[str, str]:
    """Refund an order. number: the order's number. euros: at most the order's total."""
    if not 0 < euros <= PAID.get(number, 0):
        raise ToolFailed(f"{number} was paid with {PAID.get(number, 0)} euros: refund at most that.")
    return {"number": number, "euros": str(euros), "refunded_by": context.user}


faq = Agent("faq", "Answer briefly from your documents.", description="Knows the shop's rules.", libraries=["rules"])
repairs = Agent("repairs", "Ask for the article and its fault.", libraries=["rules"], triggers=["is broken", "repair"])
support = Agent(
    "support",
    "You help the customers of a small shop. Ask Faq about rules. Refund only if the customer asks for it.",
    main=True,
    tools=[refund],
    sub_agents=[faq],
    handoffs=[Handoff(repairs, reason="Something that the customer has bought does not work.")],
    output_type=Answer,
)


@support.input_guardrail
def no_lawsuits(text: str) -> Refuse | None:
    return Refuse("Please write to legal@example.com.") if "lawyer" in text.lower() else None
