"""The agents of the shop, and what they can do. Replace the table by what your shop really has."""

from baton import Agent, tool

ORDERS = {"A-1001": "is on its way", "A-1002": "is being packed", "A-1003": "was delivered"}


@tool
async def order_status(number: str) -> dict[str, str]:
    """Look up the state of an order. number: such as A-1001."""
    return {"number": number, "state": ORDERS.get(number, "is not known")}


# The assistant consults it. No conversation begins with it.
orders = Agent(
    "orders",
    prompt="""\
You are Orders, an agent that another agent consults. Look orders up with order_status; answer questions about sending
and returns from the documents that are retrieved. Answer in one or two sentences, without a greeting.
""",
    description="Knows the state of every order, by its number, and how the shop sends and takes back goods.",
    tools=[order_status],
)

# Conversations begin with it.
assistant = Agent(
    "assistant",
    prompt="""\
You are Assistant, the voice of a small shop. Answer in the customer's language, briefly and to the point. Ask Orders
about everything that concerns an order: it sees nothing of this conversation, so put the order's number into the
question. Say when you do not know something, and never invent an order's state.
""",
    description="Answers customers of the shop, and asks Orders about their orders.",
    main=True,
    sub_agents=[orders],
)
