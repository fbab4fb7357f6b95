"""Keys of every kind of item in the table, from the modules that build keys."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from baton.adapters.dynamodb import agent_keys, keys
from baton.adapters.dynamodb.key_forms import ListedKey, MemberKey, NumberedKey, UnderNumber
from baton.domain.tenants.identity import Scope


def every_key(scope: Scope, thread_id: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield a key from each function and form of keys, with its name. ``thread_id`` is used for every kind of id."""
    for module in (keys, agent_keys):
        for name, value in vars(module).items():
            if isinstance(value, ListedKey | MemberKey | NumberedKey | UnderNumber):
                yield name, value(*_arguments(value.__call__, scope, thread_id))
            elif inspect.isfunction(value) and not name.startswith("_") and _returns_key(value):
                yield name, value(*_arguments(value, scope, thread_id))


def _returns_key(function: Any) -> bool:
    return bool(inspect.signature(function).return_annotation == "Key")


def _arguments(function: Any, scope: Scope, thread_id: str) -> list[Any]:
    values = {"Scope": scope, "str": thread_id, "str | None": thread_id, "int": 1}
    parameters = inspect.signature(function).parameters.values()
    return [
        scope.tenant_id
        if parameter.name == "tenant_id"
        else keys.partition(scope, thread_id)
        if parameter.name == "attachment"
        else values[str(parameter.annotation)]
        for parameter in parameters
        if parameter.default is parameter.empty or parameter.name == "attachment"
    ]
