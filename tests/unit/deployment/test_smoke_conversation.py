"""The connection of the smoke test."""

from __future__ import annotations

import pytest

from baton_deployment.errors import DeploymentError
from baton_deployment.smoke.conversation import connected
from baton_deployment.smoke.target import Target


async def test_an_address_that_is_none_of_a_websocket_is_reported() -> None:
    with pytest.raises(DeploymentError, match=r"https://example\.com cannot be reached"):
        async with connected(Target("https://example.com", "https://example.com", "token")):
            pass
