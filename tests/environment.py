"""The environment of a test process as it began: a local cloud in this process changes that of the process."""

import os

# Local clouds of tests have only the documents that tests give them.
os.environ.setdefault("BATON_LOCAL_DOCS", "0")

AT_START = dict(os.environ)
"""For programs that tests start."""
