"""Scheduled jobs and pipelines."""
