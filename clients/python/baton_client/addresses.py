"""Addresses and bodies of requests."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def path(template: str, **names: str) -> str:
    """Return ``template`` with each ``{name}`` replaced, percent-encoded: ids of a host may contain slashes."""
    return template.format(**{name: quote(value, safe="") for name, value in names.items()})


def given(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not ``None``."""
    return {name: value for name, value in fields.items() if value is not None}
