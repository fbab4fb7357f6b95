"""Engines come up, answer, and surely end."""

import io
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest

from baton_local.account import ACCOUNT, REGION
from baton_local.engines.clients import client
from baton_local.engines.dynamodb import DynamoDBLocal
from baton_local.engines.kept_objects import KeptObjects
from baton_local.engines.moto import MotoServer, serialize_s3
from baton_local.engines.opensearch import OpenSearch
from baton_local.engines.process import ChildProcess, start_on_free_port
from baton_local.errors import EngineFailed, LocalCloudError
from baton_local.resources import create_state_machine
from baton_local.settings import default_cache_dir
from baton_local.stack.declarations import StateMachineDefinition
from tests.engines import TableAt

SLEEPER = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]


def has_ended(pid: int) -> bool:
    """Whether the process has ended (an unreaped one has)."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it may end between the two steps of a read
        return True
    return status.rpartition(")")[2].split()[0] == "Z"


def poll(holds: Callable[[], bool]) -> bool:
    """Wait, at most 10 s, for something that another process does."""
    deadline = time.monotonic() + 10
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return holds()


@pytest.mark.parametrize("where", ["dynamodb_local_table", "moto_table"])
def test_the_template_table_works(where: str, request: pytest.FixtureRequest) -> None:
    table: TableAt = request.getfixturevalue(where)
    dynamodb = client("dynamodb", table.endpoint)
    dynamodb.put_item(TableName=table.name, Item={"PK": {"S": "a"}, "SK": {"S": "b"}, "listing": {"S": "l"}})
    described = dynamodb.describe_table(TableName=table.name)["Table"]
    assert {index["IndexName"] for index in described["GlobalSecondaryIndexes"]} == {"idle", "listing"}
    expiry = dynamodb.describe_time_to_live(TableName=table.name)["TimeToLiveDescription"]
    assert expiry["AttributeName"] == "expires_at"
    dynamodb.close()


@pytest.mark.nightly
def test_dynamodb_local_keeps_a_table_in_its_folder(tmp_path: Path) -> None:
    engine = DynamoDBLocal(default_cache_dir(), tmp_path / "table")
    for expected in ([], ["kept"]):
        dynamodb = client("dynamodb", engine.start())
        assert dynamodb.list_tables()["TableNames"] == expected
        if not expected:
            dynamodb.create_table(
                TableName="kept",
                KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )
        dynamodb.close()
        engine.stop()


SUCCEEDS = '{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}'


@pytest.fixture
def machines() -> Iterator[Any]:
    """Call it with the ARN of a state machine to create at the first use; call what it returns to list what exists."""
    with ExitStack() as running:

        def start(arn: str, given_up: Callable[[LocalCloudError], None]) -> Callable[[], list[str]]:
            engine = MotoServer(given_up=given_up)
            running.callback(engine.stop)
            stepfunctions = client("stepfunctions", engine.start())
            machine = StateMachineDefinition("m", arn, Path(), {})
            engine.create_state_machines = lambda: create_state_machine(stepfunctions, machine, SUCCEEDS)
            return lambda: [
                state_machine["name"] for state_machine in stepfunctions.list_state_machines()["stateMachines"]
            ]

        yield start


def test_the_first_requests_of_step_functions_find_the_state_machines(machines: Any) -> None:
    problems: list[LocalCloudError] = []
    listed = machines(f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:m", problems.append)
    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(listed) for _ in range(4)]
    # Local clouds of this process may have created others: moto keeps the state of all its servers together.
    assert ["m" in answer.result() for answer in answers] == [True] * 4
    assert problems == []


def test_a_state_machine_that_is_not_as_declared_is_named_once(machines: Any) -> None:
    problems: list[LocalCloudError] = []
    listed = machines("arn:other", problems.append)
    listed()
    listed()
    assert [str(problem).partition(" was")[0] for problem in problems] == ["The state machine arn:other"]


def test_objects_outlive_moto_in_their_folder(tmp_path: Path) -> None:
    engine = MotoServer(tmp_path)
    s3 = client("s3", engine.start())
    s3.create_bucket(Bucket="bucket")
    s3.put_object(Bucket="bucket", Key="a/ü", Body=b"one\ntwo", ContentType="text/plain", Metadata={"k": "v"})
    for key in ("deleted", "deleted-too"):
        s3.put_object(Bucket="bucket", Key=key, Body=b"x")
    s3.delete_object(Bucket="bucket", Key="deleted")
    s3.delete_objects(Bucket="bucket", Delete={"Objects": [{"Key": "deleted-too"}]})
    s3.close()
    engine.stop()

    s3 = client("s3", engine.start())
    assert [content["Key"] for content in s3.list_objects_v2(Bucket="bucket")["Contents"]] == ["a/ü"]
    stored = s3.get_object(Bucket="bucket", Key="a/ü")
    assert (stored["Body"].read(), stored["ContentType"], stored["Metadata"]) == (b"one\ntwo", "text/plain", {"k": "v"})
    s3.close()
    engine.stop()


def test_calls_of_s3_wait_for_each_other_and_for_no_slow_client() -> None:
    calls: queue.SimpleQueue[str] = queue.SimpleQueue()
    goes_on = threading.Event()

    def moto(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        calls.put(environ["PATH_INFO"])
        assert environ["PATH_INFO"] != "/slow" or goes_on.wait(10)
        return []

    class SlowBody(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            calls.put("reading")
            assert goes_on.wait(10)
            return super().read(size)

    app = serialize_s3(moto)
    with ThreadPoolExecutor(4) as pool:
        arriving = pool.submit(app, {"PATH_INFO": "/up", "CONTENT_LENGTH": "1", "wsgi.input": SlowBody(b"1")}, None)
        assert calls.get(timeout=10) == "reading"
        slow = pool.submit(app, {"PATH_INFO": "/slow"}, None)
        assert calls.get(timeout=10) == "/slow"
        waiting = pool.submit(app, {"PATH_INFO": "/waiting"}, None)
        assert pool.submit(app, {"PATH_INFO": "/", "HTTP_X_AMZ_TARGET": "AWSStepFunctions.A"}, None).result(10) == []
        assert calls.get(timeout=10) == "/"
        assert calls.empty()
        assert not waiting.done()
        goes_on.set()
        assert [item.result(10) for item in (arriving, slow, waiting)] == [[]] * 3


def test_what_is_not_an_object_is_ignored(tmp_path: Path) -> None:
    stored = KeptObjects(tmp_path)
    stored.follow("/", whole_bucket=False)
    stored.follow("/unknown/key", whole_bucket=False)
    assert list(tmp_path.iterdir()) == []


def test_a_child_that_ends_while_starting_is_reported_with_its_last_words() -> None:
    command = [sys.executable, "-c", "print('no such jar'); raise SystemExit(3)"]
    with pytest.raises(EngineFailed, match="exit code 3 while starting:\nno such jar"):
        start_on_free_port("An engine", lambda _: command, lambda _: False)


def test_a_child_that_never_answers_is_reported() -> None:
    with pytest.raises(EngineFailed, match="An engine was not ready after 1 s"):
        start_on_free_port("An engine", lambda _: SLEEPER, lambda _: False, timeout=1)


def test_a_stopped_child_is_gone() -> None:
    child = ChildProcess("A sleeper", SLEEPER)
    child.wait_until(lambda: "up" in child.log_tail(), 10)
    child.stop()
    child.stop()
    assert not child.is_running


STARTS_A_CHILD = """
import sys, time
from baton_local.engines.process import ChildProcess
sleeper = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
child = ChildProcess("A sleeper", [sys.executable, "-c", sleeper])
child.wait_until(lambda: bool(child.log_tail()), 10)
print(child.log_tail(), child._guard.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("victim", ["us", "the guard"])
def test_a_child_ends_when_we_or_its_guard_are_killed(victim: str) -> None:
    root = Path(__file__).parents[3]
    with subprocess.Popen([sys.executable, "-c", STARTS_A_CHILD], stdout=subprocess.PIPE, text=True, cwd=root) as we:
        assert we.stdout
        child, guard = map(int, we.stdout.readline().split())
        os.kill(we.pid if victim == "us" else guard, signal.SIGKILL)
        assert poll(lambda: has_ended(child))
        assert poll(lambda: has_ended(guard))
        we.kill()


def _serves(process: psutil.Process, folder: Path) -> bool:
    """Whether this is the engine itself, and not its guard, with data in ``folder``."""
    return process.name() == "java" and any(str(folder) in part for part in process.cmdline())


@pytest.mark.nightly
def test_opensearch_keeps_its_data_is_restarted_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def call(method: str, path: str) -> Any:
        with urllib.request.urlopen(urllib.request.Request(url + path, method=method), timeout=120) as answer:  # noqa: S310
            return json.loads(answer.read())

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))  # engines of other runs stay out of it
    (tmp_path / "temporary").mkdir()
    restarted = threading.Event()
    engine = OpenSearch(default_cache_dir(), tmp_path / "search", restarted=restarted.set)
    url = engine.start()
    try:
        call("PUT", "/kept")  # an index builds every analyser
        [java] = [child for child in psutil.Process().children(recursive=True) if _serves(child, tmp_path)]
        java.kill()
        assert restarted.wait(120)
        assert list(call("GET", "/kept")) == ["kept"]
    finally:
        engine.stop()
    assert list((tmp_path / "temporary").glob("baton-opensearch-*")) == []
    assert any((tmp_path / "search").iterdir())
