"""The base of every part of an agent's file."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, AliasGenerator, BaseModel, ConfigDict, StringConstraints
from pydantic.alias_generators import to_camel

AGENT_ID = r"[a-z][a-z0-9_-]{0,40}"

RESERVED_AGENT_ID = "v1"
"""A word in the addresses of A2A, where ids of agents stand too."""


def _unreserved(agent_id: str) -> str:
    if agent_id == RESERVED_AGENT_ID:
        raise ValueError(f"{RESERVED_AGENT_ID} is reserved: addresses of A2A give it another meaning")
    return agent_id


AgentId = Annotated[str, StringConstraints(pattern=f"^{AGENT_ID}$"), AfterValidator(_unreserved)]
Locale = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Z]{2})?$")]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class Definition(BaseModel):
    """Unknown fields are errors, so that a misspelt one is noticed.

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
