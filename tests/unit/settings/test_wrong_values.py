"""What a developer is told about a variable of the functions that has a wrong value."""

from __future__ import annotations

import re

import pytest

from baton_local.errors import LocalCloudError
from baton_local.settings import check_function_settings


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("BATON_EPISODE_FACTS", "maybe", "true or false"),
        ("BATON_INSPECTOR", "most", "'all', 'sample' or 'off'"),
        ("BATON_RECALL_DEADLINE_MS", "7", "greater than or equal to 50"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, allowed: str
) -> None:
    monkeypatch.setenv(name, value)
    complaint = rf"A setting is wrong\. {name}: .*{re.escape(allowed)}.* \(it is {value!r}\)$"
    with pytest.raises(LocalCloudError, match=complaint):
        check_function_settings()
