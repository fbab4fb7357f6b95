"""Ports for documents, files, their pipelines and search."""
