"""DynamoDB Local, Amazon's own emulator: the table of the local cloud."""

from collections.abc import Callable
from pathlib import Path

from botocore.exceptions import BotoCoreError

from baton_local.engines import java
from baton_local.engines.clients import client
from baton_local.engines.process import start_on_free_port, start_on_port
from baton_local.engines.supervision import Supervisor
from baton_local.errors import EngineFailed

NAME = "DynamoDB Local"
ARTIFACT = "com.amazonaws:DynamoDBLocal:2.6.1"
JETTY_XML = "org.eclipse.jetty:jetty-xml:12.0.14"
"""The version of the Jetty in DynamoDB Local."""
MAIN_CLASS = "org.eclipse.jetty.xml.XmlConfiguration"
CONFIGURATION = Path(__file__).with_suffix(".xml")


class DynamoDBLocal:
    """One DynamoDB Local; in memory unless ``data_dir`` is given."""

    def __init__(
        self,
        cache_dir: Path,
        data_dir: Path | None = None,
        progress: java.Progress = print,
        restarted: Callable[[], None] = lambda: None,
        given_up: Callable[[EngineFailed], None] = lambda _: None,
    ) -> None:
        """``restarted`` is called after an unexpected end and a restart at the same endpoint; see ``Supervisor``.

        What was in memory is lost then.
        """
        self._cache_dir = cache_dir
        self._data_dir = data_dir
        self._progress = progress
        self._restarted = restarted
        self._given_up = given_up
        self._supervisor: Supervisor | None = None

    def start(self) -> str:
        """Start it and return its endpoint URL. Raises ``EngineFailed``."""
        files = java.resolve(ARTIFACT, self._cache_dir, self._progress)
        starter = java.resolve(JETTY_XML, self._cache_dir, self._progress)
        natives = next(file.parent for file in files if file.name.startswith("libsqlite4java"))
        where = ["baton.inMemory=true"]
        if self._data_dir:
            self._data_dir.mkdir(parents=True, exist_ok=True)
            where = ["baton.inMemory=false", f"baton.dbPath={self._data_dir.resolve()}"]

        def command(port: int) -> list[str]:
            return [
                java.runtime(),
                "-Xmx512m",
                "-Xms16m",  # otherwise a 64th of the machine's memory, most of which stays in use
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                f"-Dsqlite4java.library.path={natives}",
                *("-cp", java.class_path([*files, *starter]), MAIN_CLASS),
                *(f"baton.port={port}", *where, str(CONFIGURATION)),
            ]

        child, port = start_on_free_port(NAME, command, _answers)
        self._supervisor = Supervisor(
            child, lambda: start_on_port(NAME, command, _answers, port), self._restarted, self._given_up
        )
        return f"http://127.0.0.1:{port}"

    def stop(self) -> None:
        """End it. Harmless when it does not run."""
        if self._supervisor:
            self._supervisor.stop()
            self._supervisor = None


def _answers(port: int) -> bool:
    dynamodb = client("dynamodb", f"http://127.0.0.1:{port}")
    try:
        dynamodb.list_tables()
    except BotoCoreError:
        return False
    finally:
        dynamodb.close()
    return True
