"""An agent that asks two others at once, and answers in one voice."""

from statistics import mean

from baton import Agent, tool

READINGS = {"Turin": [14.1, 15.3, 15.0], "Oslo": [6.2, 6.9, 7.3]}
"""Mean temperatures of the last three years, in degrees Celsius."""


@tool
async def mean_temperature(city: str) -> dict[str, float]:
    """Compute the mean temperature of the last years. city: such as Turin."""
    return {"degrees": round(mean(READINGS[city]), 1), "years": len(READINGS[city])}


library = Agent(
    "library",
    prompt="Another agent reads your answer. Answer from the documents that are retrieved, and name their titles.",
    description="Knows the reports of the weather office.",
)

figures = Agent(
    "figures",
    prompt="Another agent reads your answer. Compute with your tools, and give the number and its years.",
    description="Computes with the readings of the weather office.",
    tools=[mean_temperature],
)

research = Agent(
    "research",
    prompt="Ask Library and Figures at once about every question on climate. They see nothing of this conversation, so "
    "give them whole questions. Name what each of them has found, and what they disagree about.",
    main=True,
    sub_agents=[library, figures],
)
