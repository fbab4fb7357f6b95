"""Functions in separate processes: killed ones are replaced, and none outlives the cloud."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from baton_local.cloud import LocalCloud
from baton_local.errors import EngineFailed
from baton_local.root import ROOT
from baton_local.workers.worker_processes import WorkerEnded, WorkerProcesses
from tests.driven_cloud import DrivenCloud, is_alive
from tests.integration.local.sockets import exchange, open_socket

pytestmark = pytest.mark.nightly


@pytest.fixture
def killable(cloud: DrivenCloud) -> Iterator[DrivenCloud]:
    """The cloud with two worker processes in place of its threads."""
    cloud.stop_workers()
    cloud.start_workers(processes=2)
    yield cloud
    cloud.stop_workers()
    cloud.start_workers()


async def test_processes_do_the_work_and_killed_ones_are_replaced(killable: DrivenCloud) -> None:
    first, second = killable.worker_pids()
    killable.kill_worker(first)
    assert not is_alive(first)
    async with open_socket(killable) as socket:
        assert (await exchange(socket, "a"))["answer"] == "a"  # the other one goes on
        killable.wait_for_workers()
        assert first not in killable.worker_pids()
        killable.kill_worker(second)
        killable.wait_for_workers()
        assert len(killable.worker_pids()) == 2
        assert not {first, second} & set(killable.worker_pids())
        assert (await exchange(socket, "b"))["answer"] == "b"


def test_stopping_ends_them(killable: DrivenCloud) -> None:
    pids = killable.worker_pids()
    killable.stop_workers()
    assert not any(map(is_alive, pids))
    assert killable.worker_pids() == []


def test_a_killed_worker_fails_what_it_was_at(cloud: LocalCloud) -> None:
    processes = WorkerProcesses(1, {**os.environ, **cloud.environment})
    processes.start()
    [pid] = processes.list_pids()
    future = processes.invoke("TurnsFunction", {"wait": True})
    assert processes.list_pids(busy=True) == [pid]
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(WorkerEnded, match=rf"{pid} ended with -9"):
        future.result(10)
    processes.stop()


def test_what_a_function_raises_comes_back(cloud: LocalCloud) -> None:
    processes = WorkerProcesses(1, {**os.environ, **cloud.environment})
    processes.start()
    with pytest.raises(RuntimeError, match="ValueError: not enough values"):
        processes.invoke("TurnsFunction", {"Records": []}).result(10)
    processes.stop()


def test_processes_that_do_not_start_are_given_up(cloud: LocalCloud, tmp_path: Path) -> None:
    nowhere = {"BATON_LOCAL_TEMPLATE": str(tmp_path / "template.yaml")}
    processes = WorkerProcesses(1, {**os.environ, **cloud.environment, **nowhere})
    with pytest.raises(EngineFailed, match="3 times in a row"):
        processes.start()
    with pytest.raises(WorkerEnded):
        processes.invoke("TurnsFunction", {}).result(10)
    processes.stop()


def test_a_worker_ends_when_the_cloud_is_killed(cloud: LocalCloud) -> None:
    """The worker's standard input closes when the cloud is killed."""
    with subprocess.Popen(
        [sys.executable, "-m", "baton_local.workers.worker_process"],
        env={**os.environ, **cloud.environment},
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:
        assert worker.stdin
        assert worker.stdout
        assert json.loads(worker.stdout.readline()) == {"ready": worker.pid}
        worker.stdin.close()
        assert worker.wait(15) == 0
