"""Routes of runs over AG-UI, and their event streams."""
