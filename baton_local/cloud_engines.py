"""The engines of one local cloud, started and stopped together."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec

from baton_local.engines import Engine
from baton_local.engines.dynamodb import DynamoDBLocal
from baton_local.engines.moto import MotoServer
from baton_local.engines.opensearch import OpenSearch
from baton_local.engines.queues import Queues
from baton_local.errors import EngineFailed, LocalCloudError
from baton_local.settings import LocalSettings
from baton_local.signals import wait_for_all


@dataclass(frozen=True)
class EngineUrls:
    """The addresses of engines."""

    queues: str
    table: str
    moto: str
    """Every other service of AWS."""
    search: str
    """The address of OpenSearch; empty if the index is embedded."""


class CloudEngines:
    """The engines that the settings ask for. An engine given by its address is not started."""

    def __init__(
        self,
        settings: LocalSettings,
        progress: Callable[[str], None],
        *,
        weights: Callable[[], object] | None,
        table_restarted: Callable[[], None],
        given_up: Callable[[LocalCloudError], None],
    ) -> None:
        """``weights`` loads the embedding model while the engines start; None if another model makes vectors.

        ``table_restarted`` is called after a restart of the table's engine, which may have lost the items.
        ``given_up`` is called with the error of an engine that keeps ending.
        """
        self._settings = settings
        self._progress = progress
        self._weights = weights
        self._table_restarted = table_restarted
        self._given_up = given_up
        self._running = ExitStack()
        data_dir = settings.data_dir
        self.moto = MotoServer(data_dir and data_dir / "objects", given_up=given_up)
        self.moto.announced = progress

    def start(self) -> EngineUrls:
        """Start all engines at the same time and return their addresses. Raises ``EngineFailed``."""
        settings = self._settings
        data_dir = settings.data_dir
        queue_engine = Queues(data_dir and data_dir / "queues")
        table_engine = DynamoDBLocal(
            settings.cache_dir,
            data_dir and data_dir / "table",
            self._progress,
            restarted=self._table_restarted,
            given_up=self._given_up,
        )
        self._progress("Starting the engines ...")
        engines: tuple[Engine, ...] = (queue_engine, table_engine, self.moto)
        search_engine = None
        if settings.engines == "real" and find_spec("opensearchpy") is None:
            raise EngineFailed("OpenSearch needs an extra: run `pip install 'baton-conversations[local,opensearch]'`.")
        if settings.engines == "real" and not settings.search_endpoint:
            search_engine = OpenSearch(
                settings.cache_dir, data_dir and data_dir / "opensearch", self._progress, given_up=self._given_up
            )
            engines = (*engines, search_engine)
        self._running.callback(_stop_together, engines)
        starts: dict[str, Callable[[], object]] = {"queues": queue_engine.start, "moto": self.moto.start}
        if not settings.table_endpoint:
            starts["table"] = table_engine.start
        if search_engine:
            starts["search"] = search_engine.start
        if self._weights is not None:
            starts["model"] = self._weights
        pool = ThreadPoolExecutor(len(starts))
        try:
            started = {name: pool.submit(start) for name, start in starts.items()}
            wait_for_all(started.values())
        finally:
            pool.shutdown(wait=False)  # Ctrl-C does not wait for downloads; child processes end with this one
        urls = {name: str(future.result()) for name, future in started.items()}
        return EngineUrls(
            queues=urls["queues"],
            table=urls.get("table") or str(settings.table_endpoint),
            moto=urls["moto"],
            search=urls.get("search") or (settings.engines == "real" and settings.search_endpoint) or "",
        )

    def stop(self) -> None:
        """Stop all engines at the same time. A repetition is not an error."""
        self._running.close()


def _stop_together(engines: Iterable[Engine]) -> None:
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda engine: engine.stop(), engines))
