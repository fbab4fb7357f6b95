"""Twenty turns with each family of models: nothing that an endpoint refuses ends the conversation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import boto3
import pytest

from baton.adapters.models.bedrock.chat_model import BedrockChatModel
from baton.adapters.models.bedrock.connection import BedrockConnection
from baton.adapters.models.openai import OpenAIChatModel
from baton.ports.agents.chat_model import ChatModel
from tests.models import endpoints
from tests.models.families import CHAT, CONVERSE, RESPONSES, Family
from tests.models.journeys import STEPS, Journey
from tests.models.rerouting import Rerouted
from tests.models.standins import Fault, StandIns
from tests.models.standins.signed import ACCESS_KEY, SECRET_KEY

pytestmark = pytest.mark.nightly


def as_parameter(family: Family) -> Any:
    """Return a parameter that a usual run tries more often if no other conversation has the family's stand-in."""
    has_another = family.dialect in {endpoint.name for endpoint in endpoints.CHAT}
    marks = () if has_another else (pytest.mark.long_conversation,)
    return pytest.param(family, id=f"{family.dialect} {family.model}", marks=marks)


@asynccontextmanager
async def chat_model(stand_ins: StandIns, family: Family, action: str) -> AsyncIterator[ChatModel]:
    transport = None
    base_url = stand_ins.base_url(family.dialect)
    if family.host is not None:
        base_url, transport = f"https://{family.host}/v1", Rerouted(stand_ins, {action: family.dialect})
    model = OpenAIChatModel(api_key="any", base_url=base_url, transport=transport, backoff_seconds=0.0)
    try:
        yield model
    finally:
        await model.aclose()


async def travel(stand_ins: StandIns, model: ChatModel, name: str, who: str) -> list[str]:
    """Return what went wrong."""
    journey = Journey(model, name)
    await journey.learn()
    problems: list[str] = []
    for step in STEPS:
        if step.fails and "filter" not in step.says:
            stand_ins.journal.fail(*[Fault(503, {"error": {"message": "overloaded"}})] * 8, who=who)
        problem = journey.problem(step, await journey.say(step.says))
        stand_ins.journal.forget_faults()
        if problem is not None:
            problems.append(problem)
    return problems


@pytest.mark.parametrize("family", [as_parameter(family) for family in CHAT])
async def test_chat_completions(stand_ins: StandIns, family: Family) -> None:
    async with chat_model(stand_ins, family, "/chat/completions") as model:
        assert await travel(stand_ins, model, family.model, family.dialect) == []


@pytest.mark.parametrize("family", RESPONSES, ids=lambda family: f"{family.dialect} {family.model}")
async def test_responses(stand_ins: StandIns, family: Family) -> None:
    async with chat_model(stand_ins, family, "/responses") as model:
        assert await travel(stand_ins, model, family.model, family.dialect) == []


@pytest.mark.parametrize("name", CONVERSE)
async def test_converse(stand_ins: StandIns, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    connection = BedrockConnection("us-east-1", boto3.Session, endpoint=stand_ins.url)
    model = BedrockChatModel(connection, backoff_seconds=0.0)
    try:
        assert await travel(stand_ins, model, name, name) == []
    finally:
        await model.aclose()
