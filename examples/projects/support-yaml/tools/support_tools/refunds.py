"""Refunds of the shop's orders."""

from decimal import Decimal

from pydantic import BaseModel

from baton import CallContext, ToolFailed

PAID = {"A-1001": Decimal("59.90"), "A-1002": Decimal("12.00")}


class Receipt(BaseModel):
    number: str
    euros: Decimal
    refunded_by: str


async def refund(number: str, euros: Decimal, context: CallContext) -> Receipt:
    """Refund an order. number: the order's number. euros: at most the order's total."""
    if not 0 < euros <= PAID.get(number, 0):
        raise ToolFailed(f"{number} was paid with {PAID.get(number, 0)} euros: refund at most that.")
    return Receipt(number=number, euros=euros, refunded_by=context.user)
