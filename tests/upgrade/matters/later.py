"""Runs that begin by themselves: schedules and tasks in the background."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.upgrade.people import World, make_id, wait_for

DAY = 86_400


class Reminder:
    """A reminder that is due in half an hour, and one that was paused."""

    def begin(self, world: World) -> None:
        jack = world.person("jack")
        jack.ask("plants", "Hello", timeZone="Europe/Vienna")
        jack.post("/schedules", _reminder("water", at=_in_two_days()))
        jack.post("/schedules", _reminder("rest", rule="FREQ=DAILY;BYHOUR=9;BYMINUTE=0"))
        jack.request("PATCH", "/schedules/rest", {"paused": True})

    def go_on(self, world: World) -> None:
        jack = world.person("jack")
        states = {item["id"]: item["status"] for item in jack.items("/schedules")}
        assert states == {"water": "active", "rest": "paused"}
        world.pass_time(3 * DAY)
        wait_for(lambda: "A reminder: water" in jack.texts("plants"))
        jack.request("PATCH", "/schedules/rest", {"paused": False})
        states = {item["id"]: item["status"] for item in jack.items("/schedules")}
        assert states == {"water": "finished", "rest": "active"}
        jack.request("DELETE", "/schedules/rest")


def _in_two_days() -> str:
    return (datetime.now(UTC) + timedelta(days=2)).strftime("%Y-%m-%dT%H:%M")


def _reminder(name: str, **fields: object) -> dict[str, object]:
    return {"id": name, "threadId": make_id("plants"), "text": name, "timeZone": "Europe/Vienna", **fields}


class BackgroundTask:
    """Research in the background that has not ended."""

    def begin(self, world: World) -> None:
        kim = world.person("kim")
        kim.ask("ferries", "Please research the ferries")
        wait_for(lambda: kim.items(f"/threads/{make_id('ferries')}/background"))

    def go_on(self, world: World) -> None:
        kim = world.person("kim")
        world.pass_time(120)
        wait_for(lambda: kim.items(f"/threads/{make_id('ferries')}/background")[0]["status"] == "completed")
        assert kim.texts("ferries")[:2] == ["Please research the ferries", "The researcher is at it."]
        wait_for(lambda: len(kim.texts("ferries")) > 2)
