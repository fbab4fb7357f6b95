"""The model and the storage that all peers share in a run, and a local cloud for Baton."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import httpx

from baton_local.account import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY
from baton_local.engines.clients import client
from baton_local.engines.dynamodb import DynamoDBLocal
from baton_local.engines.process import find_free_port, start_on_free_port
from baton_local.root import ROOT
from baton_local.settings import default_cache_dir
from benchmarks.instruments.s3_process import S3Process
from benchmarks.peers.catalogue import ENVIRONMENTS, Driver, Peer
from benchmarks.peers.storage_proxy import StorageProxy
from benchmarks.turn_latency import is_answering

MODEL = "benchmark"
START_SECONDS = 180.0
"""The longest wait for the local cloud."""


@dataclass(frozen=True)
class Setting:
    """The model and the storage of a run."""

    model: str
    """The model's address."""
    storage: StorageProxy
    folder: Path
    """A folder for files of peers, removed after the run."""

    def set_pace(self, seconds: float) -> int:
        """Set the seconds of the model's answers. Return the number of answers streamed so far."""
        answer = httpx.post(f"{self.model}/pace", json={"seconds": seconds}, trust_env=False)
        return int(answer.raise_for_status().json()["answers"])


@contextmanager
def setting() -> Iterator[Setting]:
    """Start the model, DynamoDB Local, the local S3 and the proxy in front of them."""

    def make_command(port: int) -> list[str]:
        server = [sys.executable, "-m", "uvicorn", "benchmarks.peers.model_app:app"]
        return [*server, "--port", str(port), "--log-level", "warning", "--no-access-log"]

    ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    engine, objects = DynamoDBLocal(default_cache_dir(), progress=lambda text: None), S3Process()
    model, port = start_on_free_port("the model", make_command, lambda port: is_answering(f"http://127.0.0.1:{port}/"))
    try:
        storage = StorageProxy(engine.start(), objects.start())
        try:
            with TemporaryDirectory() as folder:
                yield Setting(f"http://127.0.0.1:{port}", storage, Path(folder))
        finally:
            storage.stop()
    finally:
        model.stop()
        engine.stop()
        objects.stop()


class PeerInSetting:
    """A peer in a setting, with its table, its drivers and its kill. Use it as a context manager."""

    def __init__(self, peer: Peer, setting: Setting) -> None:
        self.peer, self.setting = peer, setting
        self._python = peer.prepare()
        self._name = f"peer-{uuid.uuid4()}"

    def __enter__(self) -> PeerInSetting:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Create the table and the bucket."""
        names = self.peer.keys
        kinds: tuple[Literal["HASH", "RANGE"], ...] = ("HASH", "RANGE")
        client("dynamodb", self.setting.storage.dynamodb).create_table(
            TableName=self._name,
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
            KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, kinds, strict=False)],
            BillingMode="PAY_PER_REQUEST",
        )
        client("s3", self.setting.storage.s3).create_bucket(Bucket=self._name)

    def stop(self) -> None:
        """Do nothing, because only drivers run."""

    def start_driver(self) -> Driver:
        """Return a new process of the peer."""
        return Driver(self._python, self.peer, {**self.make_environment(), **self.make_addresses()})

    def make_environment(self) -> dict[str, str]:
        """Return the variables with the addresses of the storage and the model, which their SDKs read."""
        return {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL_DYNAMODB": self.setting.storage.dynamodb,
            "AWS_ENDPOINT_URL_S3": self.setting.storage.s3,
            "OPENAI_BASE_URL": f"{self.setting.model}/v1",
            "OPENAI_API_KEY": "no-key",
        }

    def make_addresses(self) -> dict[str, str]:
        """Return the variables that a driver reads itself."""
        return {
            "PEER_MODEL": MODEL,
            "PEER_TABLE": self._name,
            "PEER_BUCKET": self._name,
            "PEER_STORE": self.peer.store,
            "PEER_FILE": str(self.setting.folder / f"{self._name}.sqlite"),
            "OPENAI_AGENTS_DISABLE_TRACING": "1",  # traces would be sent to OpenAI
        }

    def kill(self, driver: Driver) -> None:
        """Kill the process that answers with SIGKILL. Start it again if it is not the driver."""
        driver.kill()


class BatonInSetting(PeerInSetting):
    """Baton: a local cloud, whose clients are the drivers. The folder of its queue survives a kill."""

    def start(self) -> None:
        self._port = find_free_port()
        self._run()
        token = httpx.post(f"{self._url}/local/token", json={"tenant": "peers", "user": "ada"}, trust_env=False)
        self._token = token.raise_for_status().json()["token"]

    def stop(self) -> None:
        with suppress(ProcessLookupError):  # it may have ended
            os.killpg(self._cloud.pid, signal.SIGKILL)
        self._cloud.wait()

    def kill(self, driver: Driver) -> None:
        self.stop()
        driver.kill()
        self._run()

    def make_addresses(self) -> dict[str, str]:
        return {"BATON_URL": self._url, "BATON_TOKEN": self._token}

    def _run(self) -> None:
        """Run the local cloud until ``stop``. Raises ``RuntimeError`` if it does not start."""
        variables = {
            "PORT": str(self._port),
            "BATON_CHAT_MODEL": MODEL,
            "BATON_DATA_DIR": str(self.setting.folder / self._name),
            "BATON_LOCAL_DOCS": "0",
            "BATON_LOCAL_SWEEP_SECONDS": "0",  # the cost of a sweep does not depend on the number of conversations
        }
        self._url = f"http://127.0.0.1:{self._port}"
        with (ENVIRONMENTS / "cloud.log").open("a") as log:
            self._cloud = subprocess.Popen(
                [sys.executable, "-m", "baton_local"],
                cwd=ROOT,
                env={**os.environ, **self.make_environment(), **variables},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while not is_answering(f"{self._url}/local/health"):
            if self._cloud.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"The local cloud did not start; see {ENVIRONMENTS / 'cloud.log'}")
            time.sleep(0.2)


def in_setting(peer: Peer, setting: Setting) -> PeerInSetting:
    """Return a peer that is not started yet. Raises ``RuntimeError`` if it cannot be installed."""
    return (PeerInSetting if peer.requirements else BatonInSetting)(peer, setting)
