"""The base of the families of settings, types of their values, and the families that every function has."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from baton.domain.documents.source import PREFIX_ENTRY
from baton.domain.json_values import refuse_constant
from baton.domain.tenants.egress_policy import HOST_ENTRY
from baton.domain.web_url import WithoutCredentials

PACKAGE = r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*"
"""The dotted name of a Python package."""
ORIGIN = r"\*|https?://[A-Za-z0-9._-]+(:[0-9]{1,5})?|https?://\[[0-9A-Fa-f:]+\](:[0-9]{1,5})?"
"""A browser's ``Origin``: scheme, host, and the port if it is not the scheme's default; no path, no slash."""


def _make_list_validator(pattern: str, form: str) -> AfterValidator:
    """Return a validator of a comma-separated list. It drops white space around entries, and accepts an empty text.

    ``pattern`` matches an entry, and ``form`` describes the entries in errors. An empty or invalid entry is an error,
    because a shell reads ``a, b`` without quotes as ``"a,"``, and half a list would be noticed too late.
    """

    def check(text: str) -> str:
        entries = [part.strip() for part in text.split(",")]
        if entries == [""]:
            return ""
        for name in entries:
            if re.fullmatch(pattern, name) is None:
                problem = f"{name!r} is none of them" if name else "an entry is empty; is a list with spaces in quotes?"
                raise ValueError(f"must be {form}, separated by commas: {problem}")
        return ",".join(entries)

    return AfterValidator(check)


Hosts = Annotated[
    str,
    _make_list_validator(HOST_ENTRY, "hosts (api.example.com, *.example.com for subdomains, * for every public host)"),
]
Regions = Annotated[str, _make_list_validator(r"[A-Z]{2}", "ISO codes of countries (DE)")]
Prefixes = Annotated[
    str, _make_list_validator(PREFIX_ENTRY, "prefixes with the tenant in them (bucket/handbooks/{tenant}/)")
]
Packages = Annotated[str, _make_list_validator(PACKAGE, "names of Python packages")]
Origins = Annotated[
    str, _make_list_validator(ORIGIN, "origins of web pages (https://app.example.com, without a path; * for any)")
]


def parse_object(text: Any) -> Any:
    """Return the JSON object in ``text``; a value that is not a text is returned as it is.

    Raises ``ValueError`` with the fault, which quotes no value.
    """
    if not isinstance(text, str):
        return text
    try:
        value = json.loads(text, object_pairs_hook=_check_members, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError('must be a JSON object, such as {"name": {...}}')
    return value


def _check_members(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of a JSON object. Raises ``ValueError`` for a name that occurs twice."""
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise ValueError(f"the name {name!r} occurs twice in one object")
        members[name] = value
    return members


JsonObject = BeforeValidator(parse_object)
"""Reads a setting's text as a JSON object."""


Name = Annotated[str, Field(min_length=1)]
Url = Annotated[str, Field(pattern=r"^https?://"), WithoutCredentials]


class Settings(BaseSettings):
    """The common base of all families."""

    # A family reads only the variables it uses.
    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)


class StageSettings(Settings):
    """The stage of the deployment."""

    stage: Name = Field(validation_alias="BATON_STAGE")

    @property
    def is_local(self) -> bool:
        """True in the local cloud, on a developer's machine.

        Only in the local cloud, a key may be valid for any tenant, keys may be fetched over http, and logs may quote
        the exceptions of tools.
        """
        return self.stage == "local"


class MetricSettings(Settings):
    """The stack, which is the dimension of metrics."""

    stack: Name = Field(default="baton", validation_alias="BATON_STACK")
