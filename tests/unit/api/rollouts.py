"""An agent in versions, conversations with it, and its evaluations."""

from __future__ import annotations

from typing import Any

from baton.domain.tenants.tenant_limits import DeploymentLimits
from baton.domain.threads.thread import Thread
from baton.domain.times import to_iso
from baton.tenants.tenant_copies import FRESH
from tests.harness.harness import Harness
from tests.unit.api.authors import TUTOR, Authors
from tests.unit.api.served import Served


def evaluation(harness: Harness, passed: float = 1.0, **fields: Any) -> dict[str, Any]:
    """The body that publishes an evaluation."""
    passes = round(passed * 100)
    metric = {"name": "passed", "mean": passed, "low": 0.1, "high": 1.0, "runs": 100, "notJudged": 0, "isRate": True}
    case = {"name": "Refund", "runs": 100, "judged": 100, "passes": passes, "metrics": {}, "reasons": [], "tags": []}
    numbers = {"beganAt": to_iso(harness.clock.now()), "seconds": 1.5}
    named = {"name": "5d0ad1c6d1b0", "label": "my-shop", "model": "gpt-6-luna"}
    return {**named, **numbers, "metrics": [metric], "cases": [case], **fields}


class Rollout:
    """The tutor of a tenant in versions, and conversations with it."""

    def __init__(self, **limits: Any) -> None:
        self.harness = Harness()
        self.harness.deployment_limits = DeploymentLimits(**limits)
        self.served = Served(self.harness)
        self.authors = Authors(self.served)
        self._messages = 0

    async def put(self, prompt: str, **query: Any) -> int:
        """Store a version with this prompt; return the status."""
        return (await self.authors.put("tutor", TUTOR | {"systemPrompt": prompt}, **query)).status_code

    async def call(self, method: str, path: str, body: Any = None, user: str = "ada") -> Any:
        """Change the agent; return the answer's body."""
        return (await self.authors.call(method, f"/agents/tutor{path}", user=user, json=body)).json()

    async def say(self, *, begins: bool = False) -> str:
        """Say something after the workers' copies have become old. Return the prompt of the agent that answered."""
        self.harness.clock.advance(FRESH.total_seconds())
        if begins:
            self.harness.thread_id = self.harness.clock.new_id()
        self._messages += 1
        await self.harness.say(f"m{self._messages}", "Hello", agent_id="tutor")
        request = str(self.harness.model.requests[-1])
        return next(prompt for prompt in ("Worse.", "Better.", "Good.") if prompt in request)

    async def read_thread(self) -> Thread:
        """Return the conversation."""
        return await self.harness.store.get_thread(self.harness.ada, self.harness.thread_id)

    async def read_messages(self) -> list[Any]:
        """Return the messages of the conversation."""
        return (await self.served.items(f"/threads/{self.harness.thread_id}/messages"))[0]

    async def states(self) -> list[tuple[int, str, int | None]]:
        """The versions with their states and shares, the newest first."""
        items = (await self.call("GET", "/versions"))["items"]
        return [(item["version"], item["state"], item["share"]) for item in items]


async def publish(rollout: Rollout, passed: float, **fields: Any) -> None:
    """Publish an evaluation of version 2."""
    sent = evaluation(rollout.harness, passed, agentId="tutor", agentVersion=2, **fields)
    assert (await rollout.served.post("/evaluations", sent, "agent:write")).status_code == 201
