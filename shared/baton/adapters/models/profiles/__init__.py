"""Profiles of models: what each takes and drops, merged from rules, later ones over earlier ones."""
