"""A developer's files: agents, tools, documents, secrets and settings."""
