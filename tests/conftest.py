"""Fixtures for every test."""

import os

import pytest
from hypothesis import HealthCheck, settings

# Local clouds of tests have only the documents that tests give them.
os.environ.setdefault("BATON_LOCAL_DOCS", "0")

# Machines are busy: how long an example takes says nothing about the code.
settings.register_profile("baton", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("baton")

# The checks that tests share explain themselves as tests do.
pytest.register_assert_rewrite("tests.e2e", "tests.contracts", "tests.faults.state_machines", "tests.harness")

pytest_plugins = ["tests.engines", "tests.e2e.fixtures", "tests.faults.counts"]
