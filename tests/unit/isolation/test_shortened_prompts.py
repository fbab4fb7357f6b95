"""A prompt that is too long for the model shortens no prompts of other conversations."""

from __future__ import annotations

import uuid

from tests.unit.isolation.tenants import Body, Tenants

LONG = "unpronounceable " * 1_000
"""A text of which the model counts more tokens than Baton does."""
SHORT = "a " * 3_000


def characters(request: Body) -> int:
    return sum(len(str(message["content"])) for message in request["messages"])


def refuse_long(request: Body) -> str | None:
    return "prompt is too long: 9000 tokens > 8000 maximum" if characters(request) > 20_000 else None


async def test_a_prompt_of_one_tenant_leaves_those_of_another_as_they_are() -> None:
    tenants = Tenants(refuse_long)
    acme, globex = str(uuid.uuid4()), str(uuid.uuid4())
    await tenants.ask("globex", SHORT, thread=globex)
    before = characters((await tenants.ask("globex", "Well?", thread=globex)).sent)
    for _ in range(2):
        assert (await tenants.ask("acme", LONG, thread=acme)).outcome == "Yes."
    assert characters((await tenants.ask("globex", "Well?", thread=globex)).sent) > before
