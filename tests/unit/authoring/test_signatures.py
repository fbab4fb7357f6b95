"""Tools from functions: docstrings, schemas, and what can never work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from baton import CallContext, ToolResult, TurnContext, tool
from baton.authoring.errors import CannotLoad
from baton.authoring.functions import Functions
from baton.authoring.signatures import read_docstring, read_signature


def refund(number: str, euros: Decimal, context: CallContext) -> str:
    """Refund an order. number: the order's number. euros: at most the order's total."""
    return f"{number} {euros} {context.user}"


def in_lines(number: str, euros: Decimal) -> str:
    """Refund an order.

    number: the order's
        number
    euros: at most the order's total

    Only for orders that were paid.
    """
    return ""


def google(number: str, euros: Decimal) -> str:
    """Refund an order.

    Only for orders that were paid.

    Args:
        number: the order's
            number
        euros (Decimal): at most the order's total

    Returns:
        The receipt.
    """
    return ""


def sphinx(number: str, euros: Decimal) -> str:
    """Refund an order.

    Only for orders that were paid.

    :param number: the order's number
    :param euros: at most the order's total
    :returns: the receipt
    """
    return ""


def numpy(number: str, euros: Decimal) -> str:
    """Refund an order.

    Only for orders that were paid.

    Parameters
    ----------
    number : str
        the order's number
    euros : Decimal
        at most the order's total
    """
    return ""


TEXTS = {"number": "the order's number", "euros": "at most the order's total"}
LONG = "Refund an order.\n\nOnly for orders that were paid."


@pytest.mark.parametrize("function", [in_lines, google, sphinx, numpy], ids=lambda function: function.__name__)
def test_docstrings_of_every_style_say_what_a_tool_and_its_parameters_are(function: Any) -> None:
    docstring = read_docstring(function)
    assert (docstring.description, dict(docstring.parameters)) == (LONG, TEXTS)


def test_a_docstring_of_one_line_may_say_it_too() -> None:
    docstring = read_docstring(refund)
    assert docstring.description == "Refund an order."
    assert dict(docstring.parameters) == {name: f"{text}." for name, text in TEXTS.items()}


def test_other_words_with_a_colon_belong_to_the_description() -> None:
    def find(number: int) -> None:
        """Find it. Note: the number: is not checked. Example: 7."""

    assert read_docstring(find).description == find.__doc__
    assert read_docstring(find).parameters == {}


def schema_of(function: Any) -> dict[str, Any]:
    return dict(read_signature(function, Functions().find_filled(function).names).schema)


def test_the_model_sees_types_defaults_and_texts_and_not_the_context() -> None:
    assert schema_of(refund)["properties"]["number"] == {
        "type": "string",
        "title": "Number",
        "description": "the order's number.",
    }
    assert schema_of(refund)["required"] == ["number", "euros"]
    assert schema_of(refund)["additionalProperties"] is False


def test_a_parameter_may_be_described_by_its_annotation() -> None:
    def find(
        style: Annotated[Literal["short", "long"], Field(description="Its length.")] = "short",
        page: Annotated[int, Field(ge=1)] = 1,
    ) -> None:
        """Find. style: ignored. page: from 1."""

    properties = schema_of(find)["properties"]
    assert (properties["style"]["description"], properties["page"]["description"]) == ("Its length.", "from 1.")
    assert (properties["page"]["minimum"], properties["style"]["default"]) == (1, "short")


def test_the_context_is_found_by_its_type_under_any_name() -> None:
    def find(about: CallContext, turn: TurnContext, context: Any, number: int) -> None:
        """Find."""

    assert list(schema_of(find)["properties"]) == ["number"]


class Custom:
    """No type of JSON."""


@dataclass
class Receipt:
    euros: Decimal


class Order(BaseModel):
    number: int


def test_a_type_that_json_cannot_hold_is_refused_with_the_name_of_the_parameter() -> None:
    def find(number: int, c: Custom) -> None: ...

    with pytest.raises(CannotLoad, match=r"find: the parameter c has the type Custom, which JSON cannot hold\.$"):
        schema_of(find)


def test_tools_that_can_never_answer_are_refused() -> None:
    async def steps() -> AsyncIterator[str]:
        yield ""

    def custom() -> list[Custom]:
        return []

    def iterator() -> AsyncIterator[str]:
        return steps()

    with pytest.raises(CannotLoad, match="steps: it yields, but a tool returns one answer"):
        schema_of(steps)
    with pytest.raises(CannotLoad, match=r"custom: it returns list\[.*Custom\], which JSON cannot hold\. Return text"):
        schema_of(custom)
    with pytest.raises(CannotLoad, match="iterator: it returns an iterator"):
        schema_of(iterator)


@pytest.mark.parametrize(
    "kind", [None, str, Any, object, Receipt, Order, list[Order], dict[str, Decimal], Awaitable[Receipt], ToolResult]
)
def test_answers_may_have_any_type_that_json_holds(kind: Any) -> None:
    def find() -> None: ...

    find.__annotations__["return"] = kind
    assert schema_of(find)["properties"] == {}


def test_a_missing_attribute_in_an_annotation_is_named() -> None:
    def find(order: Decimal.Nothing) -> None: ...  # type: ignore[name-defined]

    with pytest.raises(CannotLoad, match=r"find: its annotations cannot be read: .*has no attribute 'Nothing'"):
        schema_of(find)


def test_a_missing_name_in_an_annotation_is_named() -> None:
    def find(number: Nothing) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(CannotLoad, match="find: its annotations cannot be read: name 'Nothing' is not defined"):
        schema_of(find)


def test_a_function_of_an_agent_has_parameters_that_somebody_fills() -> None:
    def about(context: TurnContext, language: str = "en") -> str:
        return ""

    def asks(context: TurnContext, language: str) -> str:
        return ""

    Functions().check(about)
    with pytest.raises(CannotLoad, match="asks: nothing fills the parameter language"):
        Functions().check(asks)


def test_options_of_a_tool_are_those_of_yaml() -> None:
    instance = tool(approval="always", required_permissions=["crm:read"], timeout_seconds=5)(refund).definition
    assert (instance.requires_approval, instance.required_permissions, instance.timeout_seconds) == (
        True,
        ("crm:read",),
        5,
    )
    assert (instance.name, instance.description, instance.parameters) == ("refund", "Refund an order.", None)
