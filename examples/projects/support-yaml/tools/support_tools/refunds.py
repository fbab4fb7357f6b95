"""Refunds of the shop's orders."""

from decimal import Decimal

from baton import CallContext, ToolFailed

PAID = {"A-1001": Decimal("59.90"), "A-1002": Decimal("12.00")}


async def refund(number: str, euros: Decimal, context: CallContext) -> dict[str, str]:
    """Refund an order. number: the order's number. euros: at most the order's total."""
    if not 0 < euros <= PAID.get(number, 0):
        raise ToolFailed(f"{number} was paid with {PAID.get(number, 0)} euros: refund at most that.")
    return {"number": number, "euros": str(euros), "refunded_by": context.user}
