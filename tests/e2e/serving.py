"""The product in a separate process, for the end-to-end tests."""

import shutil
import tempfile
import time
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from baton.ports.clock import SystemClock
from baton_local.cloud_resources import CloudResources
from baton_local.lambda_runtime.invocations import FunctionFailed
from baton_local.root import ROOT
from baton_local.stack.declarations import Stack
from baton_local.stack.template import Endpoints
from tests.driven_cloud import DrivenCloud


class _CloudWithAgents(DrivenCloud):
    """The local cloud with the shipped agents and others beside them, and a table whose engine it may share."""

    agents: Path

    def _read_stack(self, endpoints: Endpoints) -> Stack:
        stack = super()._read_stack(endpoints)
        if self.settings.worker_processes:  # they take the template's names
            return stack
        name, table = f"test-{uuid.uuid4()}", stack.table
        self.aliases[name] = table["TableName"]
        return replace(stack, table={**table, "TableName": name})

    def _create_resources(self) -> CloudResources:
        self.environment["BATON_TABLE"] = self.stack.table["TableName"]
        self.environment["BATON_AGENTS_DIR"] = str(self.agents)
        self.environment["BATON_DEFAULT_AGENT"] = "assistant"
        return super()._create_resources()


def serve(connection: Connection, more_agents: Path) -> None:
    """Say where requests are served, and carry out commands until the connection is closed.

    A command is a tuple of a name and an argument. Each gets one answer.
    """
    with tempfile.TemporaryDirectory() as folder:
        agents = Path(folder) / "agents"
        agents.mkdir()
        for file in (*(ROOT / "agents").glob("*.yaml"), *more_agents.glob("*.yaml")):
            shutil.copy(file, agents)
        if (more_agents / "libraries").is_dir():
            shutil.copytree(more_agents / "libraries", Path(folder) / "libraries")
        cloud = _CloudWithAgents(port=0, data_dir=None)
        cloud.agents = agents
        cloud.start()
        try:
            connection.send((cloud.url, cloud.socket_url, cloud.environment))
            while True:
                command, argument = connection.recv()
                connection.send(_do(cloud, command, argument))
        except EOFError:
            return
        finally:
            cloud.stop()


def _do(cloud: _CloudWithAgents, command: str, argument: Any) -> Any:
    match command:
        case "throttle":
            return cloud.throttle_posts(argument)
        case "sweep":
            return cloud.sweep_now()
        case "read_sources":
            return cloud.read_sources_now()
        case "set_clock":
            SystemClock.advanced_by = argument - datetime.now(UTC)
            return None
        case "kill":
            busy = cloud.worker_pids(busy=True)[:argument]
            for pid in busy:
                cloud.kill_worker(pid)
            return len(busy)
        case "deliver":
            events = [_sqs_event(body) for body in argument["bodies"]]
            futures = [cloud.invoke(argument["function"], event) for event in events]
            return [future.result() for future in futures]
        case "invoke":
            return _outcome(cloud, argument["function"], argument["event"])
        case "log":
            return list(cloud.functions.built[argument].log)
        case _:
            raise ValueError(command)


def _outcome(cloud: _CloudWithAgents, function: str, event: Any) -> Any:
    """Return the function's answer, or the text of its error."""
    try:
        return cloud.invoke(function, event).result()
    except FunctionFailed as problem:
        return f"{problem.error_type}: {problem}"


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
