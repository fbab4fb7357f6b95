"""Scheduled jobs, and the admission and steps of pipelines that close sessions, ingest documents and forget."""
