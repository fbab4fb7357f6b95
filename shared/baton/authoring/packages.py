"""Names of the packages with agents and tools."""

from __future__ import annotations

from collections.abc import Collection

AGENTS_PACKAGE = "project_agents"
"""The package's name while it is loaded. Another distribution has the name ``agents``."""


def is_of(module: str, packages: Collection[str]) -> bool:
    """Return whether a module is one of the packages, or in one."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)
