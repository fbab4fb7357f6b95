"""A module whose closure ``test_closures`` looks at."""

from __future__ import annotations

import baton.domain.errors
from baton_testing.virtual_time import VirtualTimeLoop

__all__ = ["VirtualTimeLoop", "baton"]

NAMED = "baton_local.demo_model.app"
BELOW = "baton_client.command"
NAME_BELOW = f"baton_client.command.{BELOW}"
