"""Shapes of the HTTP API that several modules share.

Shapes that events have too are declared in ``domain``: in ``thread_state``, and in ``message`` for metadata.
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
"""Characters of a query. A search uses only its beginning."""


# Rules that use cases check, because their messages are better than a validator's. They are only for the document.
EXTERNAL_ID: dict[str, Any] = {"minLength": 1, "maxLength": MAX_EXTERNAL_ID}
NOT_BLANK: dict[str, Any] = {"pattern": r"\S"}
TIME: dict[str, Any] = {"format": "date-time"}


def describe(description: str, /, *example: Any, absent: Any = ..., **rules: Any) -> Any:
    """Return a field with a description, an optional example, and further arguments of ``pydantic.Field``.

    ``absent`` is the default of a field that is left out of responses while it has this value.
    """
    if absent is not ...:
        rules |= {"default": absent, "exclude_if": lambda value: value == absent}
    if example:
        rules["examples"] = list(example)
    return Field(description=description, **rules)


AUTHOR = describe("The person of a desk who wrote it; left out of messages of users and agents.", absent=None)


class Asked(BaseModel):
    """Base of the shapes of requests. Values are not converted, so that ``true`` is not a number."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, strict=True)

    def __init_subclass__(cls, **config: Unpack[ConfigDict]) -> None:
        """Name ``SentOffer`` as ``Offer`` in the document, because the prefix only distinguishes classes in code."""
        super().__init_subclass__(**config)
        cls.__name__ = cls.__qualname__ = cls.__name__.removeprefix("Sent")


def check_query(query: str) -> None:
    """Raise ``InvalidRequest`` for a query without words, or with more than ``MAX_QUERY`` characters."""
    if not query.strip():
        raise InvalidRequest("query must hold words: it is empty or blank.")
    if len(query) > MAX_QUERY:
        raise InvalidRequest(f"query must have at most {MAX_QUERY} characters.")


class Listing(WireModel, Generic[T]):
    """A page of a list."""

    items: list[T]
    next_cursor: str | None = describe("The `cursor` of the next page; null on the last page.", None)


class UploadTarget(WireModel):
    """The request that uploads the file."""

    url: str = Field(examples=["https://bucket.s3.amazonaws.com/..."])
    method: str = Field(examples=["PUT"])
    headers: dict[str, str] = describe("Send exactly these headers.", {"Content-Type": "application/pdf"})
    expires_at: Timestamp = Field(examples=[TIMESTAMP])


class ServedUsage(WireModel):
    """The tokens that were used."""

    input_tokens: int = Field(examples=[412])
    output_tokens: int = Field(examples=[58])
    total_tokens: int = Field(examples=[470])
    cached_input_tokens: int = describe(
        "Input tokens that the provider read from its prompt cache; left out if there are none.", 384, absent=0
    )


COST = describe(
    "The cost, in the currency of the deployment's prices; null without prices, and if a model has no "
    "price or is unknown.",
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
        "The version of the tenant's own agent; null for an agent that ships.", None, default=None
    )
    functions: list[str] | None = describe(
        "The functions of an agent in Python: `run`, which answers in place of its model, `prompt`, and "
        "hooks with their points. Left out for other agents and for callers without `agent:write`.",
        None,
        absent=None,
    )


class Health(WireModel):
    """The health of the service."""

    status: Literal["ok"]
    version: str = Field(examples=["0.1.0"])
