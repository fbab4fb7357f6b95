"""The server of the command's tests."""

from pathlib import Path

import pytest

from tests.unit.command.served import ScriptedServer


@pytest.fixture
def server(tmp_path: Path) -> ScriptedServer:
    """A server that knows nothing yet."""
    return ScriptedServer(tmp_path / "configuration")
