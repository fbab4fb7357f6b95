"""The product in a process of its own, for the end-to-end tests: ``python -m tests.e2e.serving AGENTS_FOLDER``.

It writes one line of JSON to standard output when it serves requests. Then it takes commands on standard input, one a
line: ``NAME ARGUMENT`` with the argument as JSON. Each is answered by a line of JSON. It ends when standard input is
closed.
"""

import json
import os
import shutil
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from baton_local.root import ROOT
from tests.driven_cloud import DrivenCloud


class _CloudWithAgents(DrivenCloud):
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
            answers.write(json.dumps(_do(cloud, command, json.loads(argument))) + "\n")
        cloud.stop()


def _do(cloud: _CloudWithAgents, command: str, argument: Any) -> Any:
    match command:
        case "throttle":
            return cloud.throttle_posts(argument)
        case "sweep":
            return cloud.sweep_now()
        case "read_sources":
            return cloud.read_sources_now()
        case "kill":
            busy = cloud.worker_pids(busy=True)[:argument]
            for pid in busy:
                cloud.kill_worker(pid)
            return len(busy)
        case "deliver":
            events = [_sqs_event(body) for body in argument["bodies"]]
            futures = [cloud.invoke(argument["function"], event) for event in events]
            return [future.result() for future in futures]
        case _:
            raise ValueError(command)


def _sqs_event(body: str) -> dict[str, Any]:
    """A record as the queue would deliver it, but known to no queue."""
    record = {
        "messageId": str(uuid.uuid4()),
        "receiptHandle": "none",
        "body": body,
        "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": str(int(time.time() * 1000))},
        "messageAttributes": {},
        "md5OfBody": "",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:turns.fifo",
        "awsRegion": "us-east-1",
    }
    return {"Records": [record]}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    sys.stdout.flush()
    os._exit(0)  # a handler may still be inside a call; the engines are down already
