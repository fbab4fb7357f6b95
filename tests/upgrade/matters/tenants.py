"""Agents and settings of a tenant, and users who want to be forgotten."""

from __future__ import annotations

from tests.upgrade.people import World, wait_for

ALL = ("agent:write", "tenant:manage", "user:manage", "audit:read")


class OwnAgent:
    """An agent of the tenant in two versions, and limits and retention."""

    def begin(self, world: World) -> None:
        lena = world.person("lena", *ALL)
        for prompt in ("Speak about lamps.", "Speak well of lamps."):
            lena.request("PUT", "/agents/lamps", _agent(prompt))
        lena.ask("own", "Hello", agentId="lamps")
        lena.request("PUT", "/tenant/limits", {"userMessagesPerMinute": 200})
        lena.request("PUT", "/retention", {"threads": 3000})

    def go_on(self, world: World) -> None:
        lena = world.person("lena", *ALL)
        assert len(lena.items("/agents/lamps/versions")) == 2
        assert lena.ask("own", "And now?")["messages"][-1]["content"] == "You said: And now?"
        lena.post("/agents/lamps/rollback", {"version": 1})
        assert len(lena.items("/agents/lamps/versions")) == 3
        assert lena.read("/tenant/limits")["limits"]["userMessagesPerMinute"] == 200
        assert lena.read("/retention")["threads"] == 3000
        assert "agent.write" in {record["action"] for record in lena.items("/audit?limit=100")}


def _agent(prompt: str) -> dict[str, object]:
    return {"id": "lamps", "name": "Lamps", "description": "Knows lamps.", "main": True, "systemPrompt": prompt}


class ForgottenUser:
    """A user with a conversation, a closed session and a schedule, who is then forgotten."""

    def begin(self, world: World) -> None:
        mona = world.person("mona")
        mona.ask("secret", "My secret is hunter2")
        mona.post("/schedules", {"id": "mine", "text": "Call", "at": "2035-01-01T12:00:00Z"})

    def go_on(self, world: World) -> None:
        mona = world.person("mona")
        request = mona.request("DELETE", "/users/me/memory").json()["requestId"]
        done = wait_for(lambda: _read_end(mona.read(f"/forget-requests/{request}")))
        assert done["status"] == "completed", done
        assert mona.items("/threads") == []
        assert mona.items("/schedules") == []


def _read_end(request: dict[str, object]) -> dict[str, object] | None:
    return None if request["status"] == "running" else request
