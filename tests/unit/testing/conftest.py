"""A project whose conversations are tested."""

from __future__ import annotations

from tests.unit.project.conftest import project

__all__ = ["project"]
