"""Structured answers as instances of a program's own types."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, assert_type

import httpx
import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from baton_client import AnswerMismatchError, AsyncBaton, NoStructuredAnswerError, RunResult
from baton_client.conditions import AnswerInvalidError
from tests.fakes.chat_model import Answer
from tests.harness.harness import ASSISTANT, Harness
from tests.unit.api.served import Served as ServedApp
from tests.unit.client.scripted import Served, make_end, make_message_events, make_start, number_events, stream


class Item(BaseModel):
    article: str
    quantity: int


class Order(BaseModel):
    """The source of the agent's schema."""

    model_config = ConfigDict(strict=True)

    customer: str
    due: date
    items: list[Item]


@dataclass
class Customer:
    """Another type, which takes a part of the answer."""

    customer: str


WRITTEN = '{"customer":"Ada","due":"2026-03-14","items":[{"article":"Tea","quantity":2}]}'
ORDER = Order(customer="Ada", due=date(2026, 3, 14), items=[Item(article="Tea", quantity=2)])


@pytest.fixture
def app() -> ServedApp:
    """The server's API, with an agent that answers with orders."""
    fields = ASSISTANT.model_dump() | {"answer_schema": Order.model_json_schema()}
    return ServedApp(Harness(assistant=ASSISTANT.model_validate(fields)))


def client_of(app: ServedApp) -> AsyncBaton:
    token = f"{app.harness.ada.tenant_id},ada"
    http = httpx.AsyncClient(transport=httpx.ASGITransport(app.app))
    return AsyncBaton("http://baton.test", token=token, http_client=http, max_retries=0)


async def test_an_answer_is_an_instance_of_the_callers_model(app: ServedApp) -> None:
    app.harness.model.script(WRITTEN)
    async with client_of(app) as baton:
        answer = await baton.messages.create("Two teas, please.", thread_id=app.harness.thread_id)
        order = answer.result_as(Order)
        page = await baton.threads.newest_messages(app.harness.thread_id)
    assert_type(order, Order)
    assert order == ORDER
    assert page.items[-1].metadata.result_as(Order) == ORDER


async def test_the_result_of_a_run_is_an_instance_of_the_callers_model(app: ServedApp) -> None:
    app.harness.model.script(WRITTEN, WRITTEN)
    async with client_of(app) as baton:
        created = await baton.runs.create("Two teas, please.")
        async with baton.runs.stream("Two teas, please.") as run:
            streamed = await run.result()
    assert_type(created.result_as(Order), Order)
    assert created.result_as(Order) == streamed.result_as(Order) == ORDER
    assert created.text == WRITTEN


async def test_an_answer_is_an_instance_of_other_types_with_fields(app: ServedApp) -> None:
    app.harness.model.script(WRITTEN)
    async with client_of(app) as baton:
        answer = await baton.messages.create("Two teas, please.")
    assert answer.result_as(Customer) == Customer("Ada")


async def test_an_answer_of_another_shape_names_the_field(app: ServedApp) -> None:
    class Invoice(BaseModel):
        customer: int

    app.harness.model.script(WRITTEN)
    async with client_of(app) as baton:
        answer = await baton.messages.create("Two teas, please.")
    with pytest.raises(AnswerMismatchError, match="does not fit Invoice: customer: Input should be") as mismatch:
        answer.result_as(Invoice)
    assert isinstance(mismatch.value.__cause__, ValidationError)
    assert "Ada" not in str(mismatch.value)


async def test_an_answer_that_is_text_has_no_value() -> None:
    app = ServedApp()
    async with client_of(app) as baton:
        answer = await baton.messages.create("Hello")
        run = await baton.runs.create("Hello")
    for owner in (answer, run, answer.messages[-1].metadata):
        with pytest.raises(NoStructuredAnswerError, match="Give the agent an answer_schema"):
            owner.result_as(Order)


async def test_an_invalid_answer_is_an_error_of_its_own(app: ServedApp) -> None:
    app.harness.model.script(Answer(("No.",)), Answer(("Never.",)))
    async with client_of(app) as baton:
        with pytest.raises(AnswerInvalidError, match="no JSON object"):
            await baton.messages.create("Two teas, please.")


def run_with(served: Served, **end: Any) -> RunResult:
    served.script.answer(
        "POST /v1/runs", stream(*number_events([make_start(), *make_message_events(WRITTEN), make_end(**end)]))
    )
    return served.client.runs.create("Two teas, please.")


def test_the_synchronous_client_has_the_same(served: Served) -> None:
    run = run_with(served, result={"customer": "Ada"})
    assert_type(run.result_as(Customer), Customer)
    assert run.result_as(Customer) == Customer("Ada")


def test_a_run_that_was_stopped_says_so(served: Served) -> None:
    run = run_with(served, outcome={"type": "cancelled"})
    with pytest.raises(NoStructuredAnswerError, match="'cancelled'"):
        run.result_as(Customer)
