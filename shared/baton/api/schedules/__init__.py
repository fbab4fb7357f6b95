"""Schedules of the HTTP API."""
