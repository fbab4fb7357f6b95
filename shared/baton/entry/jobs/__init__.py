"""Scheduled jobs, and the starts and steps of pipelines: closing, ingestion, forgetting, reindexing."""
