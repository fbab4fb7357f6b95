"""Faults of a settings document, in words of the file that an operator writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from baton.domain.field_names import KINDS

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

FORMS = {
    "allowedOrigins": "is no origin: write scheme and host, without a path or a slash at the end, such as "
    "https://app.example.com, or *",
    "allowedHosts": "is no host name: write api.example.com, *.example.com or *",
    "pushHosts": "is no host name: write hooks.example.com, *.example.com or *",
}
"""Fields whose entries must match a pattern -> what the pattern means."""


def in_plain_words(error: ErrorDetails, document: type[BaseModel]) -> str:
    """Return what is wrong with a field, without the value. Other messages of pydantic stay as they are."""
    location, kind = error["loc"], error["type"]
    if kind == "extra_forbidden":
        return f"is an unknown field{_suggestion(str(location[-1]), _fields_at(location[:-1], document))}"
    if kind == "string_pattern_mismatch" and location[0] in FORMS:
        return FORMS[str(location[0])]
    return "is missing" if kind == "missing" else KINDS.get(kind, error["msg"])


def _suggestion(name: str, fields: Mapping[str, Any]) -> str:
    from difflib import get_close_matches  # only for faults

    close = get_close_matches(name, fields, n=1)
    return f": is {close[0]} meant?" if close else f". There are: {', '.join(sorted(fields))}"


def _fields_at(location: tuple[int | str, ...], model: type[BaseModel]) -> dict[str, Any]:
    """Return the fields of the model at ``location``, below lists and mappings of models."""
    inner_model = model
    for part in location:
        for field in inner_model.model_fields.values():
            if field.alias == part and (inner := _model_in(field.annotation)) is not None:
                inner_model = inner
    return {str(field.alias): field for field in inner_model.model_fields.values()}


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for argument in get_args(annotation) if (model := _model_in(argument)) is not None), None)
