"""The local cloud as a whole: engines, resources, functions, gateway and workers, in one process."""

import asyncio
import importlib
import importlib.util
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from local import environment, resources
from local.engines import Engine
from local.engines.clients import client
from local.engines.dynamodb import DynamoDBLocal
from local.engines.elasticmq import ElasticMQ
from local.engines.moto import MotoServer
from local.errors import FunctionProblem
from local.functions import Function, load_module
from local.gateway.application import MANAGEMENT_PATH, SOCKET_PATH, Application
from local.gateway.asgi import AsgiApp
from local.gateway.connections import Connections, ManagementApi
from local.gateway.http import RestGateway
from local.gateway.websocket import SocketGateway
from local.server import Server, claim
from local.settings import read_settings
from local.stack import FunctionDefinition, Stack, read_stack
from local.template import Endpoints
from local.tokens import EmbedKey, TokenRequest
from local.worker import Worker, start_workers

logger = logging.getLogger("local")

PAGE = Path(__file__).parent / "page"


class LocalCloud:
    """``async with LocalCloud(port=0) as cloud: ... cloud.url``, or ``start()`` and ``stop()``.

    Keyword arguments are fields of ``LocalSettings`` and win over the environment. Everything runs on threads of its
    own, so the caller may block. One at a time in a process: ``os.environ`` is the functions' environment while it
    runs, and what functions keep from one run (clients, settings) would be wrong in the next: start a second one in a
    process of its own.
    """

    def __init__(self, progress: Callable[[str], None] = logger.info, **settings: Any) -> None:
        """Raises ``LocalCloudError`` when a setting is wrong."""
        self.settings = read_settings(**settings)
        self._progress = progress
        self._running = ExitStack()
        self._server: Server | None = None
        self._workers: list[Worker] = []
        self._functions: dict[str, Function] = {}
        self._key = EmbedKey.kept_in(self.settings.data_dir)
        self.connections = Connections()
        self.url = ""
        """``http://127.0.0.1:PORT``"""
        self.environment: dict[str, str] = {}
        """The functions' variables: also what ``python -m local.worker`` needs in its environment."""
        self.stack: Stack

    @property
    def socket_url(self) -> str:
        """The WebSocket URL."""
        return self.url.replace("http", "ws", 1) + SOCKET_PATH

    def token(self, tenant: str, user: str, *permissions: str) -> str:
        """Return a signed token, as ``POST /local/token`` does."""
        return self._key.sign(TokenRequest(tenant=tenant, user=user, permissions=list(permissions)))

    def throttle_posts(self, posts: int) -> None:
        """For tests: have the next ``posts`` posts to connections refused with 429."""
        if self._server:
            self._server.call(self.connections.throttle, posts)

    def start_workers(self) -> None:
        """Poll the queues in this process (again)."""
        queues = self.environment["AWS_ENDPOINT_URL_SQS"]
        self._workers = start_workers(self.stack.consumers, self._functions, queues, self.settings.workers)

    def stop_workers(self) -> None:
        """Poll the queues no more, so that a process of its own may: see ``local.worker``."""
        self._leave_the_queues()
        for worker in self._workers:
            worker.join()
        self._workers = []

    def start(self) -> Self:
        """Start everything and return when requests are served. Raises ``LocalCloudError``; nothing is left running."""
        try:
            self._start()
        except BaseException:
            self._running.close()
            raise
        return self

    def stop(self) -> None:
        """Stop everything, in the order in which no part misses another. Harmless when repeated."""
        self._running.close()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.stop)

    def _start(self) -> None:
        settings = self.settings
        listener = claim(settings.port)
        self._running.callback(listener.close)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        queues, table, moto = self._start_engines()
        files = settings.files_endpoint or moto
        endpoints = Endpoints(
            gateway=self.url, sockets=self.socket_url, connections=self.url + MANAGEMENT_PATH, queues=queues
        )
        self.stack = read_stack(settings.template.resolve(), {"Stage": "local"}, endpoints)
        self.environment = environment.variables(
            self.stack.functions,
            gateway=self.url,
            table_endpoint=table,
            files_endpoint=files,
            queues_endpoint=queues,
            other_endpoint=moto,
        )
        self.environment["BATON_LOCAL_TEMPLATE"] = str(settings.template.resolve())
        self._create_resources()
        self._running.enter_context(environment.applied(self.environment))
        self._progress("Loading the functions ...")
        functions, web_apps = self._load_functions()
        server = self._server = Server(self._application(functions, web_apps), listener)
        self._running.callback(server.stop)
        server.start()
        self._functions = functions
        self._running.callback(self._leave_the_queues)
        if settings.workers:
            self.start_workers()

    def _start_engines(self) -> tuple[str, str, str]:
        """Return the endpoints of queue, table and everything else."""
        settings = self.settings
        data_dir = settings.data_dir
        queue_engine = ElasticMQ(settings.cache_dir, self._progress)
        table_engine = DynamoDBLocal(settings.cache_dir, data_dir and data_dir / "table", self._progress)
        moto_engine = MotoServer(data_dir and data_dir / "objects")
        self._progress("Starting the engines ...")
        engines: tuple[Engine, ...] = (queue_engine, table_engine, moto_engine)
        self._running.callback(_stop_together, engines)
        pool = ThreadPoolExecutor(3)
        wait = True
        try:
            queues = pool.submit(queue_engine.start)
            table = pool.submit(table_engine.start) if not settings.table_endpoint else None
            moto = pool.submit(moto_engine.start)
            importlib.import_module("samtranslator.translator.translator")  # a second's work, done meanwhile
            return queues.result(), table.result() if table else str(settings.table_endpoint), moto.result()
        except KeyboardInterrupt:
            wait = False  # a download may take half a minute; children that still start end with this process
            raise
        finally:
            pool.shutdown(wait=wait, cancel_futures=True)

    def _leave_the_queues(self) -> None:
        for worker in self._workers:
            worker.stop()

    def _create_resources(self) -> None:
        here = self.environment
        resources.create_table(client("dynamodb", here["AWS_ENDPOINT_URL_DYNAMODB"]), self.stack.table)
        resources.create_queues(client("sqs", here["AWS_ENDPOINT_URL_SQS"]), self.stack.queues)
        resources.create_bucket(client("s3", here["AWS_ENDPOINT_URL_S3"]), self.stack.bucket)
        secrets = client("secretsmanager", here["AWS_ENDPOINT_URL"])
        values = {
            here.get("BATON_EMBED_KEYS_SECRET", ""): self._key.as_secret(),
            here.get("BATON_MODEL_KEY_SECRET", ""): here["OPENAI_API_KEY"],
        }
        for name in {*self.stack.secrets, *values} - {""}:
            resources.put_secret(secrets, name, values.get(name, "{}"))

    def _load_functions(self) -> tuple[dict[str, Function], dict[str, tuple[FunctionDefinition, AsgiApp]]]:
        functions: dict[str, Function] = {}
        web_apps: dict[str, tuple[FunctionDefinition, AsgiApp]] = {}
        for name, definition in self.stack.functions.items():
            if definition.handler.endswith(".sh"):
                web_apps[name] = (definition, _web_app(definition))
            else:
                functions[name] = Function(definition)
                self._running.callback(functions[name].end)
        return functions, web_apps

    def _application(
        self, functions: dict[str, Function], web_apps: dict[str, tuple[FunctionDefinition, AsgiApp]]
    ) -> Application:
        return Application(
            rest=RestGateway(self.stack.rest, functions, web_apps),
            sockets=SocketGateway(self.stack.sockets, functions, self.connections, self.settings.limits),
            management=ManagementApi(self.connections),
            key=self._key,
            page=PAGE,
            web_apps={name: app for name, (_, app) in web_apps.items()},
            model=_demo_model(),
        )


def _stop_together(engines: Iterable[Engine]) -> None:
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda engine: engine.stop(), engines))


def _web_app(definition: FunctionDefinition) -> AsgiApp:
    """Return the ASGI app that a function's start script serves behind the Lambda Web Adapter: ``app:app``."""
    module = load_module(definition.folder / "app.py")
    app: AsgiApp | None = getattr(module, "app", None)
    if app is None:
        raise FunctionProblem(f"{definition.folder / 'app.py'} has no app.")
    return app


def _demo_model() -> AsgiApp | None:
    if importlib.util.find_spec("local.demo_model") is None:
        return None
    if importlib.util.find_spec("local.demo_model.app") is None:
        return None
    app: AsgiApp = importlib.import_module("local.demo_model.app").app
    return app
