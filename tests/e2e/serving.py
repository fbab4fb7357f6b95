"""The product in a process of its own, for the end-to-end tests: ``python -m tests.e2e.serving AGENTS_FOLDER``.

It writes one line of JSON to standard output when it serves requests, takes ``throttle N`` on standard input, and
ends when standard input is closed.
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from local.cloud import LocalCloud
from local.settings import ROOT


class _CloudWithAgents(LocalCloud):
    """The local cloud with the shipped agents and others beside them."""

    agents: Path

    def _create_resources(self) -> None:
        self.environment["BATON_AGENTS_DIR"] = str(self.agents)
        self.environment["BATON_DEFAULT_AGENT"] = "assistant"
        super()._create_resources()


def main(more_agents: Path) -> None:
    """Serve until standard input is closed."""
    with tempfile.TemporaryDirectory() as folder, os.fdopen(os.dup(1), "w", buffering=1) as answers:
        os.dup2(2, 1)  # what the functions log goes to standard error
        for file in (*(ROOT / "agents").glob("*.yaml"), *more_agents.glob("*.yaml")):
            shutil.copy(file, folder)
        cloud = _CloudWithAgents(port=0, data_dir=None)
        cloud.agents = Path(folder)
        cloud.start()
        ready = {"url": cloud.url, "socketUrl": cloud.socket_url, "environment": cloud.environment}
        answers.write(json.dumps(ready) + "\n")
        for line in sys.stdin:
            command, _, argument = line.strip().partition(" ")
            if command == "throttle":
                cloud.throttle_posts(int(argument))
                answers.write("done\n")
        cloud.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    sys.stdout.flush()
    os._exit(0)  # a handler may still be inside a call; the engines are down already
