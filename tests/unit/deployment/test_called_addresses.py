"""The addresses of agents that a deployment calls: none of the fields that hold one is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from baton.domain.agents.agent import AgentDefinition
from baton_deployment.called_addresses import CALLED, NOT_CALLED

ADDRESS, NO_ADDRESS = "https://service.example.com/x", "a b"
NAMES = ("url", "uri", "endpoint", "address", "webhook", "host", "spec")


def test_each_field_of_a_definition_that_takes_an_address_is_judged_or_known_not_to_be_called() -> None:
    models = list(_models(AgentDefinition, set()))
    assert {model.__name__ for model in models} >= {"HttpTool", "Guardrail", "RemoteAgent", "ExchangeTarget"}
    holding = {(model.__name__, field) for model in models for field in _address_fields(model)}
    listed = {
        (model.__name__, field) for table in (CALLED, NOT_CALLED) for model, fields in table.items() for field in fields
    }
    assert holding == listed


def _address_fields(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        checked: TypeAdapter[Any] = TypeAdapter(field.rebuild_annotation())
        if any(word in name.split("_") for word in NAMES) or (
            _accepts(checked, ADDRESS) and not _accepts(checked, NO_ADDRESS) and not _accepts(checked, "a-name")
        ):
            yield name


def _accepts(checked: TypeAdapter[Any], value: str) -> bool:
    with suppress(ValidationError):
        checked.validate_python(value)
        return True
    return False


def _models(annotation: Any, seen: set[Any]) -> Iterator[type[BaseModel]]:
    """Yield the models that ``annotation`` consists of, and those of their fields."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if annotation in seen:
            return
        seen.add(annotation)
        yield annotation
        for field in annotation.model_fields.values():
            yield from _models(field.annotation, seen)
    for part in get_args(annotation):
        yield from _models(part, seen)
