"""An agent whose code decides what is asked: the same steps for each city, at the same time."""

from baton import Agent, RunContext

from .research import READINGS, library, mean_temperature

compare = Agent(
    "compare",
    prompt="You compare the climate of two cities.",
    description="Compares two cities, in an order that its code decides.",
    main=True,
    tools=[mean_temperature],
    sub_agents=[library],
)


@compare.run
async def answer(context: RunContext, message: str) -> str:
    """Compute both means and ask for both reports, and compare them."""
    cities = [city for city in READINGS if city.lower() in message.lower()]
    if len(cities) != 2:
        return f"Name two of these cities: {', '.join(READINGS)}."
    await context.say(f"I compare {cities[0]} and {cities[1]}.")

    async def look_up(city: str) -> tuple[float, str, str]:
        mean = await context.call(mean_temperature, city=city)
        return mean["degrees"], city, await context.ask(library, f"What was the climate of {city}?")

    (less, cold, of_cold), (more, warm, of_warm) = sorted(await context.gather(*map(look_up, cities)))
    return f"{warm} is {more - less:.1f} degrees warmer. {warm}: {of_warm} {cold}: {of_cold}"
