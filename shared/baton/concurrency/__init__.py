"""Tasks and threads."""
