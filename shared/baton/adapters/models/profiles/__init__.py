"""Profiles of models: what each takes and does."""
