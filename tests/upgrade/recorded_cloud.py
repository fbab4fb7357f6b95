"""A local cloud, as ``python -m baton_local`` starts it, that notes what its functions are called with.

The code of any release runs this file: it uses nothing of Baton but the names below. Each line of the file that the
variable names is a function and an event. What clients have sent is left out: it is the same for each release.
"""

import json
import os
import sys
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from baton_local.__main__ import main
from baton_local.functions import Environment

FROM_CLIENTS = {"httpMethod", "requestContext", "methodArn"}
NOTES = Path(os.environ["BATON_UPGRADE_NOTES"])

_invoke = Environment.invoke


def invoke(self: Environment, event: Any) -> "Future[Any]":
    """Note the event and hand it over."""
    if not FROM_CLIENTS & event.keys():
        line = json.dumps({"function": self._definition.name, "event": event})
        with NOTES.open("a") as notes:
            notes.write(line + "\n")
    return _invoke(self, event)


if __name__ == "__main__":
    Environment.invoke = invoke  # type: ignore[method-assign]
    sys.exit(main())
