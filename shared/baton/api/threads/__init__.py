"""Routes of threads, their messages, turns, branches, files and records."""
