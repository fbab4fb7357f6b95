"""The data that tools keep in a conversation."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.runs.conversation_data import DataChange


@pytest.mark.parametrize(("before", "after"), [(1, True), (False, 0), ([0], [False]), ({"a": 1}, {"a": True})])
def test_values_that_only_python_takes_for_equal_are_changed(before: Any, after: Any) -> None:
    assert DataChange.between({"x": before}, {"x": after}) == DataChange({"x": after})


@pytest.mark.parametrize("after", [{"a": 1, "b": 2.0}, {"b": 2, "a": 1.0}])
def test_equal_data_is_no_change(after: dict[str, Any]) -> None:
    assert DataChange.between({"a": 1, "b": 2}, after) is None
