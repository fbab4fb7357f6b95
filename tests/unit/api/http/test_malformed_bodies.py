"""A body that is refused is refused by the name of the field that its sender wrote."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.api.served import Served


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/messages", [], "The body must be a JSON object."),
        ("/messages", "text", "The body must be a JSON object."),
        ("/messages", {"message": ""}, "message must not be empty."),
        ("/messages", {"message": [{"type": "text", "text": 7}]}, "message[0].text: Input should be a valid string."),
        ("/episodes/search", [], "The body must be a JSON object."),
        ("/episodes/import", {"sessionId": "s", "messages": ["Hello"]}, "messages[0]: Input should be "),
    ],
)
async def test_the_error_names_what_was_sent(path: str, body: Any, expected: str) -> None:
    refused = await Served().post(path, body)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert refused.json()["detail"].startswith(expected)
