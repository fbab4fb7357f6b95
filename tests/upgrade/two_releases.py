"""Two releases that run one after the other over the same table, files and queues."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from baton_local.engines.clients import client
from baton_local.engines.dynamodb import DynamoDBLocal
from baton_local.engines.moto import MotoServer
from baton_local.settings import default_cache_dir
from tests.upgrade.matters import MATTERS
from tests.upgrade.people import World
from tests.upgrade.recording import Recording
from tests.upgrade.serving import ServedRelease
from tests.upgrade.trees import python_path


@dataclass(frozen=True)
class Engines:
    """A table and files, and a folder for the queues, that outlive the releases."""

    table: str
    files: str
    folder: Path

    @property
    def notes(self) -> Path:
        """The file with the events of functions."""
        return self.folder / "notes.jsonl"

    @property
    def data(self) -> Path:
        """The data folder of the local clouds."""
        return self.folder / "data"

    @property
    def queues(self) -> Path:
        """The file of the queues."""
        return self.data / "queues" / "queues.db"

    def serve(self, tree: Path) -> ServedRelease:
        """Return the local cloud of a release over these engines."""
        addresses = {"AWS_ENDPOINT_URL_DYNAMODB": self.table, "AWS_ENDPOINT_URL_S3": self.files}
        return ServedRelease(tree, addresses | {"BATON_UPGRADE_NOTES": str(self.notes)}, self.data)


@contextmanager
def run_engines() -> Iterator[Engines]:
    """Run engines for two releases."""
    table, files = DynamoDBLocal(default_cache_dir()), MotoServer()
    with tempfile.TemporaryDirectory() as folder:
        try:
            yield Engines(table.start(), files.start(), Path(folder))
        finally:
            table.stop()
            files.stop()


def record(tree: Path) -> Recording:
    """Begin all matters with a release, kill it while its last runs are at work, and return what it has stored."""
    with run_engines() as engines:
        with engines.serve(tree) as cloud:
            for matter in MATTERS:
                matter.begin(World(cloud.url))
        return Recording.take(
            client("dynamodb", engines.table), client("s3", engines.files), engines.queues, engines.notes
        )


def record_schemas(tree: Path) -> str:
    """Return the schemas of what a release stores and sends, as JSON."""
    command = [sys.executable, str(Path(__file__).parent / "schemas.py")]
    environment = os.environ | {"PYTHONPATH": python_path(tree)}
    return subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def begin_and_go_on(writes: Path, reads: Path) -> None:
    """Begin all matters with one release, kill it at work, and continue them with another."""
    with run_engines() as engines:
        with engines.serve(writes) as cloud:
            for matter in MATTERS:
                matter.begin(World(cloud.url))
        with engines.serve(reads) as cloud:
            for matter in MATTERS:
                matter.go_on(World(cloud.url))
