"""A turn under its lease: acquire, open, answer, commit, deliver; recovery and closing."""
