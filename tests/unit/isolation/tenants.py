"""Two tenants in one process, and the endpoint of the deployment's model that they share."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from baton.adapters.models.openai import OpenAIChatModel
from baton.domain.agents.agent import AgentDefinition
from baton.domain.tenants.identity import Scope
from baton.domain.threads.turn_requests import ClientOffer
from tests.harness.harness import ASSISTANT, Harness
from tests.unit.adapters.models.chat_endpoint import Endpoint, body, chunk, sse

Body = dict[str, Any]
Rule = Callable[[Body], httpx2.Response | str | None]
"""A response, the words of a refusal, or None for an answer."""


def yes() -> httpx2.Response:
    return sse(chunk({"content": "Yes."}), chunk({}, "stop"))


def refuse(text: str, status: int = 400, **fields: Any) -> httpx2.Response:
    return body({"error": {"message": text, "type": "invalid_request_error", **fields}}, status)


class Tenants(Harness):
    """Turns of several tenants with an agent that ships with the deployment, and its model's endpoint."""

    def __init__(self, rule: Rule, *, agent: Mapping[str, Any] | None = None, **overrides: Any) -> None:
        """``rule`` decides about each request; ``agent`` are fields of the agent."""

        def answer(request: Body) -> httpx2.Response:
            decided = rule(request)
            return refuse(decided) if isinstance(decided, str) else decided or yes()

        self.endpoint = Endpoint(answer)
        model = OpenAIChatModel(
            api_key="k", base_url="http://model.test/v1", transport=self.endpoint, backoff_seconds=0.0, max_retries=0
        )
        shipped = AgentDefinition.model_validate(ASSISTANT.model_dump() | dict(agent or {}))
        super().__init__(assistant=shipped, model=model, **overrides)

    async def ask(
        self,
        tenant: str,
        text: str = "Hello",
        *,
        user: str = "ada",
        agent: str | None = None,
        tools: ClientOffer | None = None,
        thread: str = "",
    ) -> Turn:
        """Send a user's message in ``thread``, or in a new conversation if that is None."""
        before = len(self.endpoint.bodies)
        self.thread_id = thread or str(uuid.uuid4())
        scope = Scope(tenant, user)
        turn = await self.say(str(uuid.uuid4()), text, scope=scope, client=tools, agent_id=agent, seconds=120)
        return Turn(turn.text or str(turn.last.get("code")), self.endpoint.bodies[before:])


@dataclass(frozen=True)
class Turn:
    """A turn as its user and the model's endpoint see it."""

    outcome: str
    """The answer, or the code of the error."""
    requests: list[Body]

    @property
    def sent(self) -> Body:
        """The last request of the model; empty if it was not asked."""
        return self.requests[-1] if self.requests else {}

    @property
    def roles(self) -> list[str]:
        return [message["role"] for message in self.sent.get("messages", ())]
