"""Fixtures for every test."""

import pytest

pytest.register_assert_rewrite("tests.e2e")  # the checks that its tests share explain themselves as tests do

pytest_plugins = ["tests.engines", "tests.e2e.fixtures"]
