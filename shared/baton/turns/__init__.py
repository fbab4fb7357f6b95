"""A turn under its lease: acquire, open, answer, commit, deliver. Also recovery of runs and closing of threads."""
