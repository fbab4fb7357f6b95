"""ElasticMQ: the FIFO queues of the local cloud, with the order, deduplication and redrive rules of SQS."""

import tempfile
from pathlib import Path

from botocore.exceptions import BotoCoreError

from local.engines import java
from local.engines.clients import ACCOUNT, REGION, client
from local.engines.process import ChildProcess, start_on_free_port

ARTIFACT = "org.elasticmq:elasticmq-server_2.13:1.6.14"
MAIN_CLASS = "org.elasticmq.server.Main"
CONFIGURATION = """
include classpath("application.conf")
node-address {{ protocol = http, host = "127.0.0.1", port = {port}, context-path = "" }}
rest-sqs {{ enabled = true, bind-port = {port}, bind-hostname = "127.0.0.1", sqs-limits = strict }}
rest-stats {{ enabled = false }}
aws {{ region = "{region}", accountId = "{account}" }}
"""


class ElasticMQ:
    """One ElasticMQ, always in memory: a queue's messages do not outlive it."""

    def __init__(self, cache_dir: Path, progress: java.Progress = print) -> None:
        self._cache_dir = cache_dir
        self._progress = progress
        self._child: ChildProcess | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def start(self) -> str:
        """Start it and return its endpoint URL. Raises ``EngineFailed``."""
        files = java.resolve(ARTIFACT, self._cache_dir, self._progress)
        self._folder = tempfile.TemporaryDirectory(prefix="baton-elasticmq-")
        configuration = Path(self._folder.name, "elasticmq.conf")

        def command(port: int) -> list[str]:
            configuration.write_text(CONFIGURATION.format(port=port, region=REGION, account=ACCOUNT))
            return [
                java.runtime(),
                "-Xmx256m",
                "-XX:+UseSerialGC",
                f"-Dconfig.file={configuration}",
                *("-cp", java.class_path(files), MAIN_CLASS),
            ]

        self._child, port = start_on_free_port("ElasticMQ", command, _answers)
        return f"http://127.0.0.1:{port}"

    def stop(self) -> None:
        """End it. Harmless when it does not run."""
        if self._child:
            self._child.stop()
            self._child = None
        if self._folder:
            self._folder.cleanup()
            self._folder = None


def _answers(port: int) -> bool:
    sqs = client("sqs", f"http://127.0.0.1:{port}")
    try:
        sqs.list_queues()
    except BotoCoreError:
        return False
    finally:
        sqs.close()
    return True
