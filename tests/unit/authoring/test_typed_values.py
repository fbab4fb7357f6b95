"""Values from models are checked by a project's types: before anybody is asked, stored or answered."""

from __future__ import annotations

import enum
import json
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, field_validator, model_validator

from baton import Agent, Completion, Handoff, Replace, RunContext, State, Workflow, tool
from baton.domain.runs.tool_call import ToolCall
from tests.fakes.chat_model import Answer
from tests.harness.coded import make_coded_harness
from tests.harness.handoffs import advance, transfer
from tests.harness.harness import Harness, Turn
from tests.harness.wiki import answer, call_results, yes

accepted_values: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_made() -> None:
    accepted_values.clear()


class Kind(enum.Enum):
    city = "city"
    ebike = "ebike"


class Period(BaseModel):
    first: date
    last: date
    price: Decimal = Decimal(1)

    @field_validator("price")
    @classmethod
    def _is_positive(cls, price: Decimal) -> Decimal:
        if price <= 0:
            raise ValueError("a price is more than nothing")
        return price

    @model_validator(mode="after")
    def _has_an_order(self) -> Period:
        if self.last < self.first:
            raise ValueError("the last day is before the first")
        return self


MONEY = Field(json_schema_extra={"format": "money", "x-currency": "EUR"})


@tool(approval="always", asks="Book a {kind} from {day} for {price}?")
async def book(kind: Kind | None, day: date, price: Annotated[Decimal, MONEY], period: Period | None = None) -> str:
    """Book a bike."""
    accepted_values.append((kind, day, price))
    return "Booked."


FITS = {"kind": "ebike", "day": "2027-05-02", "price": "90.50"}
DAYS = {"first": "2027-05-02", "last": "2027-05-04"}
BACK = {**DAYS, "last": "2027-05-01"}


def call_book(**arguments: Any) -> Answer:
    return Answer.calling(ToolCall("c1", "book", json.dumps({**FITS, **arguments})))


async def ask(harness: Harness, *answers: Answer | str) -> Turn:
    harness.model.script(*answers)
    return await harness.say("m1", "An e-bike, please.")


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"price": "€90"}, "price: Input should be a valid decimal"),
        ({"price": "about ninety"}, "price: Input should be a valid decimal"),
        ({"day": "2027-02-31"}, "day: Input should be a valid date"),
        ({"kind": "tandem"}, "at kind: 'tandem' is not one of ['city', 'ebike']"),
        ({"kind": 7}, "at kind: 7 is not one of"),
        ({"day": 7.5}, "at day: 7.5 is not of type 'string'"),
        ({"period": BACK}, "period: the last day is before the first"),
        ({"period": {**DAYS, "price": -1}}, "period.price: a price is more than nothing"),
    ],
)
async def test_nobody_is_asked_about_a_call_that_can_never_be_made(wrong: dict[str, Any], reason: str) -> None:
    harness = make_coded_harness(Agent("assistant", "Rent bikes.", main=True, tools=[book]))
    message = await ask(harness, call_book(**wrong), "Which day?")
    assert message.types[-1] == "RUN_FINISHED"
    assert message.last.get("outcome", {}).get("type") != "interrupt"
    [result] = call_results(harness)
    assert result.startswith("Error: the arguments do not fit")
    assert reason in result


async def test_a_call_that_fits_is_asked_about_and_made_with_converted_values() -> None:
    harness = make_coded_harness(Agent("assistant", "Rent bikes.", main=True, tools=[book]))
    [interrupt] = (await ask(harness, call_book())).last["outcome"]["interrupts"]
    assert interrupt["message"] == "Book a ebike from 2 May 2027 for €90.50?"
    harness.model.script("Booked.")
    await answer(harness, yes(interrupt))
    assert accepted_values == [(Kind.ebike, date(2027, 5, 2), Decimal("90.50"))]


async def test_what_a_hook_makes_of_the_arguments_is_checked_by_the_types_too() -> None:
    agent = Agent("assistant", "Rent bikes.", main=True, tools=[book])

    @agent.before_tool
    def change(name: str, arguments: dict[str, Any]) -> Replace:
        return Replace({**arguments, "price": "about ninety"})

    harness = make_coded_harness(agent)
    message = await ask(harness, call_book(), "No.")
    assert message.last.get("outcome", {}).get("type") != "interrupt"
    assert "price: Input should be a valid decimal" in call_results(harness)[0]


@tool
async def count(number: Annotated[int, Field(gt=0)], period: Period) -> str:
    """Count."""
    accepted_values.append(number)
    return "Counted."


class Broken(BaseModel):
    words: str

    @field_validator("words")
    @classmethod
    def _fails(cls, words: str) -> str:
        raise SystemExit(words)


@tool
async def keep(broken: Broken) -> str:
    """Keep."""
    accepted_values.append(broken)
    return "Kept."


async def test_a_validator_that_fails_lets_nothing_pass(caplog: pytest.LogCaptureFixture) -> None:
    harness = make_coded_harness(Agent("assistant", "Keep.", main=True, tools=[keep]))
    call = Answer.calling(ToolCall("c1", "keep", '{"broken": {"words": "my secret"}}'))
    await ask(harness, call, "No.")
    assert call_results(harness) == ["Error: the arguments do not fit: a validator has failed with SystemExit"]
    assert accepted_values == []
    assert "my secret" not in caplog.text


def test_a_schema_of_arguments_that_cannot_be_checked_is_refused_with_the_reason() -> None:
    schema = {"type": "object", "properties": {"price": {"type": "string", "pattern": r"^(?!x)\d+$"}}}
    with pytest.raises(ValueError, match="lookahead and lookbehind are not supported"):
        tool(parameters=schema)(count.function)


class Consent(BaseModel):
    agreed: Literal[True]


async def _make_rental_harness(*answers: Answer | str) -> Harness:
    @tool
    async def rent(first: date, last: date, price: Annotated[Decimal, Field(lt=1_000)] = Decimal(1)) -> str:
        """Rent."""
        accepted_values.append((first, last))
        return "R-1"

    states = [
        State("days", "The days", collects=Period),
        State("check", "Agreeing", collects=Consent),
        State("done", "Rented", final=True),
    ]
    desk = Agent(
        "desk",
        "Rent.",
        description="Rents.",
        workflow=Workflow("rental", states, on_complete=Completion(rent, back_to="days")),
    )
    harness = make_coded_harness(Agent("assistant", "Welcome.", main=True, handoffs=[Handoff(desk)]), desk)
    harness.model.script(transfer("desk"), "Which days?")
    await harness.say("m1", "I want a bike.")
    harness.model.script(*answers)
    await harness.say("m2", "These days.")
    return harness


@pytest.mark.parametrize(
    ("state", "data", "reason"),
    [
        ("CHECK", BACK, "DAYS is not complete: the last day is before the first"),
        ("DAYS", {"price": "about ten"}, "data does not fit: price: Input should be a valid decimal"),
        ("DAYS", {"price": -1}, "data does not fit: price: a price is more than nothing"),
        ("CHECK", {**DAYS, "extra": 1}, "data does not fit: DAYS has no field 'extra'"),
    ],
)
async def test_a_step_takes_only_data_that_its_type_takes(state: str, data: dict[str, Any], reason: str) -> None:
    harness = await _make_rental_harness(advance(state, **data), "Again?")
    assert reason in call_results(harness)[-1]


async def test_a_step_takes_its_data_one_after_the_other() -> None:
    harness = await _make_rental_harness(
        advance("DAYS", first=DAYS["first"]), advance("CHECK", last=DAYS["last"]), advance("DONE", agreed=True), "Done."
    )
    assert accepted_values == [(date(2027, 5, 2), date(2027, 5, 4))]
    assert "rent has answered:\nR-1" in call_results(harness)[-1]


async def test_data_that_the_tool_at_the_end_cannot_take_sends_the_workflow_back() -> None:
    harness = await _make_rental_harness(
        advance("CHECK", **DAYS, price=2_000), advance("DONE", agreed=True), "Cheaper?"
    )
    result = call_results(harness)[-1]
    assert "The workflow is not completed. rent: the arguments do not fit at price: 2000" in result
    assert "State: DAYS" in result
    assert accepted_values == []


def _make_quoting_agent() -> Agent:
    return Agent("assistant", "Quote.", main=True, output_type=Period)


RIGHT = '{"first":"2027-05-02","last":"2027-05-04","price":"90"}'


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ('{"first":"2027-02-31","last":"2027-05-04"}', "first: Input should be a valid date"),
        ('{"first":"2027-05-02","last":"2027-05-04","price":"abc"}', "price: Input should be a valid decimal"),
        ('{"first":"2027-05-02","last":"2027-05-04","price":-1}', "price: a price is more than nothing"),
        ('{"first":"2027-05-02","last":"2027-05-01"}', "the last day is before the first"),
    ],
)
async def test_an_answer_that_its_type_refuses_goes_back_to_the_model_with_the_reason(wrong: str, reason: str) -> None:
    harness = make_coded_harness(_make_quoting_agent())
    message = await ask(harness, wrong, RIGHT)
    assert message.last["result"] == {"first": "2027-05-02", "last": "2027-05-04", "price": "90"}
    assert reason in harness.model.requests[-1].contents[-1][1]

    failed = await ask(make_coded_harness(_make_quoting_agent()), wrong, wrong)
    assert failed.last["code"] == "answer_invalid"
    assert reason in failed.last["message"]


async def test_a_typed_step_of_a_coroutine_is_corrected_once_too() -> None:
    agent = Agent("assistant", "Quote.", main=True)

    @agent.run
    async def run(context: RunContext, message: str) -> str:
        period = await context.model("Which days?", output_type=Period)
        return f"Until {period.last}."

    harness = make_coded_harness(agent)
    messages = await ask(harness, '{"first":"2027-05-02","last":"2027-05-01"}', RIGHT)
    assert messages.finished is not None
    assert messages.finished.messages[-1].text == "Until 2027-05-04."
    assert "the last day is before the first" in harness.model.requests[-1].contents[-1][1]


async def test_the_log_quotes_nothing_of_an_answer_that_does_not_fit(caplog: pytest.LogCaptureFixture) -> None:
    class Loud(BaseModel):
        words: str

        @field_validator("words")
        @classmethod
        def _quotes(cls, words: str) -> str:
            raise ValueError(f"{words} is wrong")

    wrong = '{"words":"my secret"}'
    message = await ask(make_coded_harness(Agent("assistant", "Say.", main=True, output_type=Loud)), wrong, wrong)
    assert message.last["code"] == "answer_invalid"
    assert "my secret" not in caplog.text
