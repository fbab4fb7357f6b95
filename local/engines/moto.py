"""moto's server: S3 and Secrets Manager. It keeps a bucket's objects in a folder when given one."""

import sys
from pathlib import Path

from botocore.exceptions import BotoCoreError

from local.engines.clients import client
from local.engines.kept_objects import KeptObjects
from local.engines.process import ChildProcess, start_on_free_port


class MotoServer:
    """One moto server. Its state is in its process: another one knows nothing of it."""

    def __init__(self, data_dir: Path | None = None) -> None:
        self._data_dir = data_dir
        self._child: ChildProcess | None = None

    def start(self) -> str:
        """Start it and return its endpoint URL. Raises ``EngineFailed``."""
        folder = [str(self._data_dir.resolve())] if self._data_dir else []

        def command(port: int) -> list[str]:
            return [sys.executable, "-m", "local.engines.moto_process", str(port), *folder]

        self._child, port = start_on_free_port("moto", command, _answers)
        endpoint = f"http://127.0.0.1:{port}"
        if self._data_dir:
            KeptObjects(self._data_dir).restore(endpoint)
        return endpoint

    def stop(self) -> None:
        """End it. Harmless when it does not run."""
        if self._child:
            self._child.stop()
            self._child = None


def _answers(port: int) -> bool:
    s3 = client("s3", f"http://127.0.0.1:{port}")
    try:
        s3.list_buckets()
    except BotoCoreError:
        return False
    finally:
        s3.close()
    return True
