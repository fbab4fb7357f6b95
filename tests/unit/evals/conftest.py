"""A project whose agents are evaluated."""

from __future__ import annotations

from tests.unit.project.conftest import project

__all__ = ["project"]
