"""The environment for programs that tests start. That of the process may have been changed by a local cloud in it."""

import os

# Local clouds of tests have only the documents that tests give them.
os.environ.setdefault("BATON_LOCAL_DOCS", "0")

INITIAL_ENVIRONMENT = dict(os.environ)
"""The variables with which the test process began, and those above."""

DEVELOPERS_ENVIRONMENT = {
    name: value for name, value in INITIAL_ENVIRONMENT.items() if not name.startswith(("AWS_", "BATON_", "OPENAI_"))
}
"""Those of a developer who has set nothing of Baton, AWS or models."""
