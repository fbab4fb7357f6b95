"""DynamoDB Local, Amazon's own emulator: the table of the local cloud."""

from pathlib import Path

from botocore.exceptions import BotoCoreError

from baton_local.engines import java
from baton_local.engines.clients import client
from baton_local.engines.supervision import SupervisedEngine

NAME = "DynamoDB Local"
ARTIFACT = "com.amazonaws:DynamoDBLocal:2.6.1"
JETTY_XML = "org.eclipse.jetty:jetty-xml:12.0.14"
"""The version of the Jetty in DynamoDB Local."""
MAIN_CLASS = "org.eclipse.jetty.xml.XmlConfiguration"
CONFIGURATION = Path(__file__).with_suffix(".xml")


class DynamoDBLocal(SupervisedEngine):
    """One DynamoDB Local; in memory unless ``data_dir`` is given. A restart loses what was in memory."""

    def start(self) -> str:
        """Start the engine and return its endpoint URL. Raises ``EngineFailed``."""
        runtime = java.find_java(self._cache_dir, self._progress)
        files = java.resolve(ARTIFACT, self._cache_dir, self._progress)
        starter = java.resolve(JETTY_XML, self._cache_dir, self._progress)
        natives = next(file.parent for file in files if file.name.startswith("libsqlite4java"))
        storage = ["baton.inMemory=true"]
        if self._data_dir:
            self._data_dir.mkdir(parents=True, exist_ok=True)
            storage = ["baton.inMemory=false", f"baton.dbPath={self._data_dir.resolve()}"]

        def make_command(port: int) -> list[str]:
            return [
                runtime,
                "-Xmx512m",
                "-Xms16m",  # Java's default is a 64th of the machine's memory, most of which stays in use
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                f"-Dsqlite4java.library.path={natives}",
                *("-cp", java.make_class_path([*files, *starter]), MAIN_CLASS),
                *(f"baton.port={port}", *storage, str(CONFIGURATION)),
            ]

        return self._run(NAME, make_command, _answers)


def _answers(port: int) -> bool:
    """Return whether DynamoDB Local answers a request."""
    dynamodb = client("dynamodb", f"http://127.0.0.1:{port}")
    try:
        dynamodb.list_tables()
    except BotoCoreError:
        return False
    finally:
        dynamodb.close()
    return True
