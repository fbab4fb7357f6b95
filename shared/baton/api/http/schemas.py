"""Shapes that several nouns of the HTTP API share: what is served and described is read from what is stored.

Shapes that events have too are declared in ``domain``: ``thread_state`` and the metadata in ``message``.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar, Unpack

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from baton.domain.errors import InvalidRequest
from baton.domain.tenants.identity import MAX_EXTERNAL_ID
from baton.domain.wire_model import TIMESTAMP, Timestamp, WireModel

T = TypeVar("T")
MAX_QUERY = 20_000
"""Characters of a query. A search takes the first of them."""


# Rules of requests that use cases check, with better sentences than a validator has: the document states them.
EXTERNAL_ID: dict[str, Any] = {"minLength": 1, "maxLength": MAX_EXTERNAL_ID}
NOT_BLANK: dict[str, Any] = {"pattern": r"\S"}
TIME: dict[str, Any] = {"format": "date-time"}


def describe(description: str, /, *example: Any, absent: Any = ..., **rules: Any) -> Any:
    """Return a field with a description, an example if one is given, and what else ``pydantic.Field`` takes.

    ``absent`` is the default of a field that is left out while it has it.
    """
    if absent is not ...:
        rules |= {"default": absent, "exclude_if": lambda value: value == absent}
    if example:
        rules["examples"] = list(example)
    return Field(description=description, **rules)


AUTHOR = describe("The person of a desk who wrote it; left out of what users and agents said.", absent=None)


class Asked(BaseModel):
    """Base of what callers send: nothing is converted, so that ``true`` is not a number."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, strict=True)

    def __init_subclass__(cls, **config: Unpack[ConfigDict]) -> None:
        """Describe ``SentOffer`` as ``Offer``: the prefix distinguishes it from a use case's class in code only."""
        super().__init_subclass__(**config)
        cls.__name__ = cls.__qualname__ = cls.__name__.removeprefix("Sent")


def check_query(query: str) -> None:
    """Raise ``InvalidRequest`` for a query without words, or with more characters than a search takes."""
    if not query.strip():
        raise InvalidRequest("query must hold words: it is empty or blank.")
    if len(query) > MAX_QUERY:
        raise InvalidRequest(f"query must have at most {MAX_QUERY} characters.")


class Listing(WireModel, Generic[T]):
    """A page of a list."""

    items: list[T]
    next_cursor: str | None = describe("Pass it as `cursor` to get the next page; null on the last.", None)


class UploadTarget(WireModel):
    """The request that uploads the file."""

    url: str = Field(examples=["https://bucket.s3.amazonaws.com/..."])
    method: str = Field(examples=["PUT"])
    headers: dict[str, str] = describe("Send exactly these.", {"Content-Type": "application/pdf"})
    expires_at: Timestamp = Field(examples=[TIMESTAMP])


class ServedUsage(WireModel):
    """Tokens spent."""

    input_tokens: int = Field(examples=[412])
    output_tokens: int = Field(examples=[58])
    total_tokens: int = Field(examples=[470])
    cached_input_tokens: int = describe(
        "Input tokens that the provider read from its prompt cache; left out where there are none.", 384, absent=0
    )


COST = describe(
    "The cost, in the currency of the deployment's prices; null without prices, and where a model has "
    "none or is not known.",
    0.0021,
)


class ServedAgent(WireModel, extra="allow", alias_generator=to_camel, populate_by_name=True):
    """An agent's definition."""

    id: str = Field(examples=["assistant"])
    name: str = Field(examples=["Assistant"])
    description: str = Field(examples=["Answers questions."])
    avatar_url: str | None = Field(examples=[None])
    main: bool = describe("Whether a conversation may begin with it.", examples=[True])
    version: int | None = describe(
        "The version of the tenant's own agent; null for one that ships.", None, default=None
    )
    functions: list[str] | None = describe(
        "The functions of an agent in Python: `run`, which answers in place of its model, `prompt`, and "
        "hooks with their points. Only those have it, and only holders of `agent:write` get it.",
        None,
        absent=None,
    )


class Health(WireModel):
    """The health of the service."""

    status: Literal["ok"]
    version: str = Field(examples=["0.1.0"])
