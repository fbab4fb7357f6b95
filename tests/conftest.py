"""Fixtures for every test."""

pytest_plugins = ["tests.engines"]
