"""Targets of evaluations: projects and running servers."""
