"""Orders of customers."""


async def find_order(number: str) -> dict[str, str]:
    """Look an order up. number: the order's number."""
    return {"number": number, "state": "on its way"}


async def refund(number: str) -> dict[str, str]:
    """Refund an order. number: the order's number."""
    return {"refunded": number}
