"""The base of all parts of agents' files, and the problems of fields in plain words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, AliasGenerator, BaseModel, ConfigDict, StringConstraints
from pydantic.alias_generators import to_camel

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


AGENT_ID = r"[a-z][a-z0-9_-]{0,40}"
EVENT_TYPE = r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}"

RESERVED_AGENT_ID = "v1"
"""A path segment of A2A addresses, at the same position as the ids of agents."""


def _refuse_reserved(agent_id: str) -> str:
    if agent_id == RESERVED_AGENT_ID:
        raise ValueError(f"{RESERVED_AGENT_ID} is reserved: addresses of A2A give it another meaning")
    return agent_id


AgentId = Annotated[str, StringConstraints(pattern=f"^{AGENT_ID}$"), AfterValidator(_refuse_reserved)]
LibraryName = Annotated[str, StringConstraints(pattern=f"^{AGENT_ID}$")]
Locale = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Z]{2})?$")]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class Definition(BaseModel):
    """A part of an agent's file. Unknown fields are errors, so that a misspelt field is noticed.

    Files have the fields' names; ``model_dump(by_alias=True)`` is the wire shape of ``/v1/agents``, which
    ``model_validate(..., by_alias=True)`` takes back.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        str_strip_whitespace=False,
        alias_generator=AliasGenerator(alias=to_camel),
        validate_by_name=True,
        validate_by_alias=False,
        loc_by_alias=False,
    )


CLOSENESS = 0.75
"""The least similarity of a suggestion, as ``difflib`` measures it from 0 to 1."""
KINDS = {
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a mapping of names to values",
    "model_type": "must be a mapping of fields",
    "model_attributes_type": "must be a mapping of fields",
    "string_type": "must be text",
}
"""Messages in place of those of pydantic that name types of Python, by the kind of the error."""


def get_message(error: ErrorDetails) -> str:
    """Return pydantic's message about a value, without the prefix of messages that validators of Baton raise."""
    return error["msg"].removeprefix("Value error, ")


def in_plain_words(error: ErrorDetails) -> str:
    """Return what is wrong with a field: a message of Baton, or that of ``get_message``."""
    if error["type"] == "string_type" and isinstance(error["input"], bool | int | float | date):
        return "must be text: put it into quotes"
    return KINDS.get(error["type"], get_message(error))


def describe_unknown_field(name: object, names: Iterable[str]) -> str:
    """Return the problem of a field that does not exist, with the most similar of ``names`` if there is one."""
    similar = find_similar_name(str(name), names)
    return f"there is no such field (did you mean {similar}?)" if similar else "there is no such field"


MAX_LISTED = 20
"""Names that an error lists."""


def find_similar_name(name: str, names: Iterable[str]) -> str | None:
    """Return the most similar of ``names``; None if none is similar."""
    # Imported for errors only.
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, sorted(names), n=1, cutoff=CLOSENESS)), None)


def suggest_name(name: str, names: Collection[str]) -> str:
    """Return advice about ``name``, which does not exist: the most similar of ``names``, or the first of them.

    At most ``MAX_LISTED`` names are in it.
    """
    similar = find_similar_name(name, names)
    available = ", ".join(list(names)[:MAX_LISTED]) or "none"
    return f"did you mean {similar}?" if similar else f"available: {available}"


@lru_cache(maxsize=8)
def list_field_names(model: type[BaseModel]) -> frozenset[str]:
    """Return the names of all fields of a model and of the models in it, also as the HTTP API writes them."""
    names = set(_list_names(model.model_json_schema(by_alias=False)))
    return frozenset(names | {to_camel(name) for name in names})


def _list_names(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        properties = schema.get("properties")
        yield from properties if isinstance(properties, dict) else ()
        for part in schema.values():
            yield from _list_names(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _list_names(part)
