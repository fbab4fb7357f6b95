"""The environment with which the test process began, for programs that tests start, and to find changes by tests.

The environment of the process may change for a time, for example while a local cloud runs in it.
"""

import os

# Local clouds in tests do not index Baton's documentation.
os.environ.setdefault("BATON_LOCAL_DOCS", "0")

INITIAL_ENVIRONMENT = dict(os.environ)
"""The variables with which the test process began, and the one above."""

DEVELOPERS_ENVIRONMENT = {
    name: value for name, value in INITIAL_ENVIRONMENT.items() if not name.startswith(("AWS_", "BATON_", "OPENAI_"))
}
"""The environment of a developer without variables for Baton, AWS or models."""

_SET_BY_PYTEST = "PYTEST_CURRENT_TEST"


def reset_environment() -> list[str]:
    """Restore the variables with which this process began, and return the names of those that differed."""
    names = {name for name, _ in INITIAL_ENVIRONMENT.items() ^ os.environ.items()} - {_SET_BY_PYTEST}
    for name in names:
        if name in INITIAL_ENVIRONMENT:
            os.environ[name] = INITIAL_ENVIRONMENT[name]
        else:
            del os.environ[name]
    return sorted(names)
