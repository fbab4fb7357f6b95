"""A model that keeps failing is not asked for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from baton.adapters.egress.circuit_breaker import CircuitBreakers
from baton.adapters.models.openai import OpenAIChatModel
from baton.domain.errors import ModelError, ModelRateLimited, ModelTimeout, ModelUnavailable
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import ModelSettings, Prompt
from tests import fault_model as fault
from tests.fakes.thread_files import MemoryThreadFiles
from tests.fault_model import Behaviour, FaultModel

HELLO = (Prompt(Role.USER, "Hello"),)


class Caller:
    """A caller of a chat model whose circuit opens after two failed answers, for thirty seconds."""

    def __init__(self, make_model: Callable[..., OpenAIChatModel], server: FaultModel) -> None:
        self.now = 0.0
        self.breakers = CircuitBreakers(failures=2, open_seconds=30, monotonic=lambda: self.now)
        self.model = make_model(max_retries=0, breakers=self.breakers)
        self.server = server

    async def ask(self, behaviour: Behaviour, model: str = "fault-1", patience: float = 30) -> type[ModelError] | None:
        """The result of one question to an endpoint of this ``behaviour``."""
        self.server.otherwise = behaviour
        try:
            async for _ in self.model.stream(ModelSettings(model, timeout_seconds=patience), HELLO, thread_files=FILES):
                pass
        except ModelError as error:
            return type(error)
        return None


FILES = MemoryThreadFiles()


@pytest.fixture
def caller(make_model: Callable[..., OpenAIChatModel], fault_model: FaultModel) -> Caller:
    return Caller(make_model, fault_model)


async def test_an_endpoint_that_fails_twice_is_left_alone_until_a_trial_succeeds(
    caller: Caller, fault_model: FaultModel
) -> None:
    for _ in range(2):
        assert await caller.ask(fault.unavailable()) is ModelUnavailable
    assert await caller.ask(fault.answers()) is ModelUnavailable
    assert len(fault_model.requests) == 2
    caller.now = 30
    assert await caller.ask(fault.answers()) is None
    assert await caller.ask(fault.answers()) is None


async def test_another_model_of_the_endpoint_is_still_asked(caller: Caller) -> None:
    for _ in range(2):
        assert await caller.ask(fault.unavailable()) is ModelUnavailable
    assert await caller.ask(fault.answers(), model="fault-2") is None


@pytest.mark.parametrize("behaviour", [fault.breaks_after("One "), fault.html(), fault.invalid_json()])
async def test_answers_that_break_count(caller: Caller, fault_model: FaultModel, behaviour: Behaviour) -> None:
    for _ in range(3):
        assert await caller.ask(behaviour) is ModelUnavailable
    assert len(fault_model.requests) == 2


async def test_silence_counts(caller: Caller, fault_model: FaultModel) -> None:
    for _ in range(2):
        assert await caller.ask(fault.silence(), patience=0.05) is ModelTimeout
    assert await caller.ask(fault.answers()) is ModelUnavailable


@pytest.mark.parametrize("behaviour", [fault.rate_limited(), fault.unauthorized(), fault.filtered_prompt()])
async def test_a_model_that_says_no_is_well(caller: Caller, fault_model: FaultModel, behaviour: Behaviour) -> None:
    for _ in range(4):
        assert await caller.ask(behaviour) is not ModelUnavailable
    assert len(fault_model.requests) == 4


async def test_many_requests_at_once_do_not_hide_a_dead_endpoint(caller: Caller) -> None:
    assert await caller.ask(fault.rate_limited()) is ModelRateLimited
    failed = await asyncio.gather(*(caller.ask(fault.unavailable()) for _ in range(2)))
    assert failed == [ModelUnavailable, ModelUnavailable]
    assert await caller.ask(fault.answers()) is ModelUnavailable
