"""Engines that end by themselves are started again, and given up when that does not help."""

import queue
import signal
import sys
from pathlib import Path

import psutil
import pytest

from baton_local.cloud import LocalCloud
from baton_local.engines import supervision
from baton_local.engines.clients import client
from baton_local.engines.dynamodb import DynamoDBLocal
from baton_local.engines.process import ChildProcess
from baton_local.engines.supervision import Supervisor
from baton_local.errors import EngineFailed
from baton_local.settings import default_cache_dir

SLEEPER = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]
DYING = [sys.executable, "-c", "print('no memory')"]


def kill(child: ChildProcess) -> None:
    """Kill the command, not its guard."""
    [command] = psutil.Process(child._guard.pid).children()
    command.send_signal(signal.SIGKILL)


def start_process(command: list[str]) -> ChildProcess:
    child = ChildProcess("An engine", command)
    child.wait_until(lambda: "up" in child.log_tail() or command is DYING, 10)
    return child


def log_lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "baton_local.engines"]


def test_an_engine_that_ends_is_started_again_and_each_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    children = [start_process(SLEEPER)]
    restarts: queue.Queue[None] = queue.Queue()

    def restart() -> ChildProcess:
        children.append(start_process(SLEEPER))
        return children[-1]

    supervisor = Supervisor(children[0], restart, lambda: restarts.put(None), lambda problem: pytest.fail(str(problem)))
    for _ in range(2):
        kill(children[-1])
        restarts.get(timeout=20)
    supervisor.stop()
    supervisor.stop()
    assert len(children) == 3
    assert not any(child.is_running for child in children)
    assert log_lines(caplog)[:3] == [
        "An engine ended:\nup\nAn engine is started again.",
        "An engine runs again.",
        "An engine ended:\nup\nAn engine is started again.",
    ]
    assert len(log_lines(caplog)) <= 4


def test_an_engine_that_keeps_ending_is_given_up(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "BACK_OFF_SECONDS", (0.0, 0.0))
    failures: queue.Queue[EngineFailed] = queue.Queue()
    Supervisor(start_process(DYING), lambda: start_process(DYING), lambda: None, failures.put)
    assert str(failures.get(timeout=20)) == (
        "An engine keeps ending, so it is given up. The last time: An engine ended:\nno memory"
    )


def test_an_engine_that_cannot_be_started_again_is_given_up_and_reported_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "BACK_OFF_SECONDS", (0.0,) * 5)
    failures: queue.Queue[EngineFailed] = queue.Queue()

    def restart() -> ChildProcess:
        raise EngineFailed("The disk is full.")

    Supervisor(start_process(DYING), restart, lambda: None, failures.put)
    assert str(failures.get(timeout=20)).endswith("The last time: The disk is full.")
    assert log_lines(caplog) == ["An engine ended:\nno memory\nAn engine is started again."]


@pytest.mark.nightly
def test_dynamodb_local_keeps_its_endpoint_and_its_data(tmp_path: Path) -> None:
    restarts: queue.Queue[None] = queue.Queue()
    engine = DynamoDBLocal(default_cache_dir(), tmp_path / "table", restarted=lambda: restarts.put(None))
    dynamodb = client("dynamodb", engine.start())
    dynamodb.create_table(
        TableName="kept",
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    for number in range(20):
        dynamodb.put_item(TableName="kept", Item={"PK": {"S": str(number)}})
    assert engine._supervisor
    kill(engine._supervisor._child)
    restarts.get(timeout=60)
    assert dynamodb.scan(TableName="kept")["Count"] == 20
    dynamodb.close()
    engine.stop()


def test_a_cloud_whose_engine_is_given_up_says_so() -> None:
    cloud = LocalCloud(port=0)
    cloud._failures.put(EngineFailed("An engine keeps ending."))
    with pytest.raises(EngineFailed, match="keeps ending"):
        cloud.wait()
