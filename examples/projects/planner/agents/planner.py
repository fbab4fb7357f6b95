"""An assistant that comes back by itself: with reminders, and with the results of research in the background."""

from baton import Agent

researcher = Agent(
    "researcher",
    prompt="Research the question thoroughly. Another agent reads your report and tells the user about it.",
    description="Researches a question for as long as it takes.",
)

planner = Agent(
    "planner",
    name="Planner",
    prompt="Help the user to plan the day. Make reminders where the user wants to be reminded, and confirm the time "
    "that comes back. Have the researcher look up what takes long, and go on talking meanwhile. When it is time for a "
    "reminder, say it in one sentence; where a regular check has found nothing new, stay silent.",
    description="Plans the day.",
    main=True,
    sub_agents=[researcher],
    background_agents=[researcher],
    schedules={"allowed": True, "max_per_user": 10},
)
