"""The parts of a remote agent's answer that are used."""

from __future__ import annotations

import pytest
from a2a.types import Artifact, Part

from baton.adapters.a2a.parts import read_extras
from baton.ports.agents.agent_client import AgentFile


@pytest.mark.parametrize(
    ("expected", "stored"),
    [
        ("https://files.example.com/1.pdf", "https://files.example.com/1.pdf"),
        ("HTTP://files.example.com/1.pdf", "HTTP://files.example.com/1.pdf"),
        ("javascript:alert(1)", None),
        ("data:text/html,<script>alert(1)</script>", None),
        ("file:///etc/passwd", None),
        ("/relative", None),
        (f"https://files.example.com/{'a' * 3_000}", f"https://files.example.com/{'a' * 3_000}"),
        (f"https://files.example.com/{'a' * 9_000}", None),
    ],
)
def test_a_file_has_no_address_but_one_of_the_web(expected: str, stored: str | None) -> None:
    [(_, file)] = read_extras(Artifact(artifact_id="1", parts=[Part(url=expected, filename="1.pdf")]))
    assert isinstance(file, AgentFile)
    assert (file.attachment.name, file.attachment.url) == ("1.pdf", stored)
