"""The environment with which the test process began: for programs that tests start, and to find what tests leave.

That of the process is changed for a while, for example by a local cloud in it.
"""

import os

# Local clouds of tests have only the documents that tests give them.
os.environ.setdefault("BATON_LOCAL_DOCS", "0")

INITIAL_ENVIRONMENT = dict(os.environ)
"""The variables with which the test process began, and those above."""

DEVELOPERS_ENVIRONMENT = {
    name: value for name, value in INITIAL_ENVIRONMENT.items() if not name.startswith(("AWS_", "BATON_", "OPENAI_"))
}
"""Those of a developer who has set nothing of Baton, AWS or models."""

_SET_BY_PYTEST = "PYTEST_CURRENT_TEST"


def reset_environment() -> list[str]:
    """Give this process back the variables with which it began; return the names of those that differed."""
    names = {name for name, _ in INITIAL_ENVIRONMENT.items() ^ os.environ.items()} - {_SET_BY_PYTEST}
    for name in names:
        if name in INITIAL_ENVIRONMENT:
            os.environ[name] = INITIAL_ENVIRONMENT[name]
        else:
            del os.environ[name]
    return sorted(names)
