"""The local cloud as a whole: engines, resources, functions, gateway and workers, in one process."""

import asyncio
import logging
import queue
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Self

from baton.settings.document import SettingsDocument, apply_variables
from baton.settings.models import ProviderSettings
from baton_local import environment, resources, web
from baton_local.advanced_clock import AdvancedClock
from baton_local.cloud_engines import CloudEngines, EngineUrls
from baton_local.cloud_functions import CloudFunctions
from baton_local.cloud_project import CloudProject
from baton_local.cloud_resources import CloudResources
from baton_local.cloud_workers import CloudWorkers
from baton_local.demo_model import weights
from baton_local.demo_model.sentence_encoder import get_shared_encoder
from baton_local.engines import state_machines
from baton_local.engines.clients import client
from baton_local.engines.moto import MotoServer
from baton_local.errors import LocalCloudError
from baton_local.execution import as_deployed
from baton_local.garbage import without_collection
from baton_local.gateway.application import MANAGEMENT_PATH, SOCKET_PATH, Application
from baton_local.gateway.connections import Connections, ManagementApi
from baton_local.gateway.fair_gate import FairGate
from baton_local.gateway.http import RestGateway
from baton_local.gateway.websocket import SocketGateway
from baton_local.log_lines import kept_tool_failures, readable_lines
from baton_local.project.documentation import Documentation
from baton_local.project.project_tools import find_packages, importable
from baton_local.root import ROOT
from baton_local.serving.asgi import AsgiApp
from baton_local.serving.hosts import LocalHosts
from baton_local.serving.server import Server, claim
from baton_local.settings import check_function_settings, find_model_endpoint, read_settings
from baton_local.signals import receive
from baton_local.stack.declarations import Stack, read_stack
from baton_local.stack.template import Endpoints
from baton_local.tokens import EmbedKey, TokenRequest, list_tenants
from baton_local.traces import PATH as TRACES_PATH
from baton_local.traces import LocalTraces, TraceRoutes
from baton_local.workers.object_events import ObjectEvents
from baton_local.workers.pressure import Pressure
from baton_local.workers.schedules import Scheduler

logger = logging.getLogger("baton_local")

PAGE = Path(__file__).parent / "page"

SWITCH_SECONDS = 0.001
"""Seconds for which a thread may keep the interpreter while others wait. Machines of a deployment are threads here, and
a frame passes through several of them. With Python's default of 5 ms, the first word arrived a third later."""


class LocalCloud:
    """``async with LocalCloud(port=0) as cloud: ... cloud.url``, or ``start()`` and ``stop()``.

    Keyword arguments are fields of ``LocalSettings`` and override the environment. Everything runs on separate threads,
    so the caller may block. A process runs one local cloud, once: ``os.environ`` is the functions' environment, and
    functions cache clients and settings that a second one could not use.
    """

    def __init__(self, progress: Callable[[str], None] = logger.info, **settings: Any) -> None:
        """Raises ``LocalCloudError`` when a setting is wrong."""
        self.settings = read_settings(**settings)
        self._progress = progress
        self._running = ExitStack()
        self._failures: queue.SimpleQueue[LocalCloudError] = queue.SimpleQueue()
        self._pressure = Pressure()
        self._gate = FairGate(lambda: self._pressure.is_high)
        self._workers = CloudWorkers(self.settings, self._gate, self._pressure)
        self.functions = CloudFunctions(self.settings, progress)
        self._project = CloudProject(self.settings, progress)
        self._schedulers: dict[str, Scheduler] = {}
        self._key = EmbedKey.load_or_make(self.settings.data_dir)
        embed_keys = self.settings.embed_keys
        self._embed_keys = self._key.as_secret(embed_keys.get_secret_value() if embed_keys else None)
        self._weights = partial(weights.provide_folder, self.settings.cache_dir, progress)
        self._encoder = get_shared_encoder(self.settings.cache_dir.absolute())
        self._embeds = environment.embeds_by_itself()
        """Whether the local cloud makes the embeddings itself. The encoder loads its model for the first text."""
        self.connections = Connections()
        self.url = ""
        """``http://127.0.0.1:PORT``"""
        self.environment: dict[str, str] = {}
        """The functions' variables. ``python -m baton_local.workers.worker`` needs them in its environment."""
        self.about: dict[str, Any] = {}
        """The state that pages show, such as the default model and the reasons why changed files are not in use."""
        self.aliases: dict[str, str] = {}
        """The template's names of resources, by their local names. Roles refer to the template's names."""
        self.stack: Stack
        self._document = SettingsDocument()

    @property
    def socket_url(self) -> str:
        """The WebSocket URL."""
        return self.url.replace("http", "ws", 1) + SOCKET_PATH

    def find_model_endpoint(self) -> str:
        """Return the URL at which turns call the chat model, for display."""
        document = apply_variables(self._document)
        return find_model_endpoint(
            ProviderSettings(
                BATON_MODEL_PROVIDERS=document.model_providers, BATON_MODEL_PROFILES=document.model_profiles
            )
        )

    def token(self, tenant: str, user: str, *permissions: str) -> str:
        """Return a signed token, as ``POST /local/token`` does."""
        return self._key.sign(TokenRequest(tenant=tenant, user=user, permissions=list(permissions)))

    def start_workers(self, processes: int | None = None) -> None:
        """Start to poll the queues for functions in ``processes`` other processes, or in this process if it is 0.

        None takes the number of the settings. Raises ``EngineFailed`` when a process does not start.
        """
        self._workers.start(self.stack.consumers, self.functions.by_name, self.environment, processes)

    def stop_workers(self) -> None:
        """Stop polling the queues. No error if it has stopped already."""
        self._workers.stop()

    def start(self) -> Self:
        """Start everything and return when requests are served. Stops everything if it raises ``LocalCloudError``."""
        self._running.callback(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(SWITCH_SECONDS)
        try:
            with without_collection():
                self._start()
        except BaseException:
            self._running.close()
            raise
        return self

    def wait(self) -> None:
        """Block until an engine gives up, which raises ``LocalCloudError``, or a signal handler raises its error."""
        raise receive(self._failures)

    def stop(self) -> None:
        """Stop everything, each part before those it needs. A repetition is not an error."""
        self._running.close()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.stop)

    def _start(self) -> None:
        """Start all parts. Each part is stopped before those that it needs. Raises ``LocalCloudError``."""
        settings = self.settings
        listener = claim(settings.port)
        self._running.callback(listener.close)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        engines = CloudEngines(
            settings,
            self._progress,
            weights=self._weights if self._embeds else None,
            table_restarted=self._restore_table,
            given_up=self._failures.put,
        )
        self._running.callback(engines.stop)
        urls = engines.start()
        self._read_template(urls)
        variables = self.environment
        self._fill_about(variables)
        load_executions = self._running.enter_context(state_machines.executed(self.functions.invoke))
        cloud_resources = self._create_resources()
        self._running.enter_context(environment.applied(self.environment))
        check_function_settings()
        self.about["isDemoModel"] = self.find_model_endpoint().startswith(f"{self.url}/local/")
        self._project.read_agents(self.stack.functions.values())
        cloud_resources.make_indices()
        self._running.enter_context(as_deployed(self.stack, settings, self.aliases))
        self._running.enter_context(readable_lines(are_wanted=settings.logs == "text"))
        self._progress("Loading the functions ...")
        self._running.callback(self.functions.end)
        self.functions.load(self.stack.functions, self.environment)
        cloud_resources.prepare_state_machines(engines.moto, urls.moto, load_executions)
        from baton_local.project import shared_agents

        server = Server(self._make_application(), listener)
        self._running.callback(server.stop)
        server.start()
        self._running.callback(shared_agents.close_resources)  # while the server's event loop runs
        self._running.callback(self.stop_workers)
        self._project.report_unusable(with_embedder=not self._embeds)
        if settings.workers:
            self.start_workers()
        self._start_schedules()
        self._start_object_events(engines.moto)
        self._running.callback(self._project.stop)
        invoke = partial(self.functions.invoke, "IngestionFunction")
        self.about["reload"] = self._project.follow_files(self.url, self._key, invoke, list_tenants(self._embed_keys))
        if settings.documentation:
            documentation = Documentation(settings.cache_dir, self._progress)
            self._running.callback(documentation.stop)
            documentation.start()

    def _read_template(self, urls: EngineUrls) -> None:
        """Set the stack and the functions' variables, and make tools importable. Raises ``TemplateProblem``."""
        settings = self.settings
        endpoints = Endpoints(
            gateway=self.url, sockets=self.socket_url, connections=self.url + MANAGEMENT_PATH, queues=urls.queues
        )
        self.stack = self._read_stack(endpoints)
        self.environment = environment.make_variables(
            self.stack.functions,
            gateway=self.url,
            table_endpoint=urls.table,
            files_endpoint=settings.files_endpoint or urls.moto,
            queues_endpoint=urls.queues,
            other_endpoint=urls.moto,
            search_url=urls.search,
            embedding_url=settings.embedding_url,
            collects_traces=settings.traces,
        )
        self._running.enter_context(importable(settings.tools_dir))
        packages = self.environment.get("BATON_TOOL_PACKAGES") or ",".join(find_packages(settings.tools_dir))
        self.environment |= {"BATON_TOOL_PACKAGES": packages, "BATON_LOCAL_TEMPLATE": str(settings.template_file)}

    def _read_stack(self, endpoints: Endpoints) -> Stack:
        """Return what the template declares. Raises ``TemplateProblem``."""
        return read_stack(self.settings.template_file, {"Stage": "local"}, endpoints, self.settings.cache_dir)

    def _create_resources(self) -> CloudResources:
        """Create the template's resources, and set the settings document. Raises ``LocalCloudError``."""
        cloud_resources = CloudResources(self.settings, self.stack, self.environment)
        self._document = cloud_resources.create(self._embed_keys)
        return cloud_resources

    def _fill_about(self, variables: Mapping[str, str]) -> None:
        """Set the part of ``about`` that follows from the functions' ``variables``, and collect failures of tools."""
        self.about["model"] = variables["BATON_CHAT_MODEL"]
        self.about["hasOwnAgents"] = variables["BATON_AGENTS_DIR"] != str(ROOT / "agents")
        self.about["project"] = Path(variables["BATON_AGENTS_DIR"]).parent.name if self.about["hasOwnAgents"] else None
        self.about["agent"] = variables.get("BATON_DEFAULT_AGENT")
        self.about["toolFailures"] = self._running.enter_context(kept_tool_failures())

    def _restore_table(self) -> None:
        """Create the table again after its engine was restarted."""
        if not self.settings.data_dir:
            logger.error(
                "The table's items are lost, because they were in memory. Set BATON_DATA_DIR=folder to keep them."
            )
        if "AWS_ENDPOINT_URL_DYNAMODB" in self.environment:  # otherwise the engine ended before the table was created
            resources.create_table(client("dynamodb", self.environment["AWS_ENDPOINT_URL_DYNAMODB"]), self.stack.table)

    def _make_application(self) -> Application:
        """Return the app that serves the gateway, the pages and the local cloud's own routes."""
        from baton_local.demo_model.app import create_local_app

        functions, web_apps = self.functions.by_name, self.functions.web_apps
        streamed = {
            name: function for name, function in self.functions.built.items() if self.stack.functions[name].is_web_app
        }
        return Application(
            rest=RestGateway(self.stack.rest, functions, web_apps, streamed=streamed, gate=self._gate),
            sockets=SocketGateway(self.stack.sockets, functions, self.connections, self.settings.limits, self._gate),
            management=self._make_management_api(),
            key=self._key,
            page=PAGE,
            widget=web.BUILT,
            console=web.CONSOLE_BUILT,
            web_apps={name: app for name, (_, app) in web_apps.items()},
            model=create_local_app(self._encoder),
            about=self.about,
            hosts=LocalHosts(self.settings.host_names),
            traces=self._make_trace_routes(),
            clock=AdvancedClock(self.environment, self._schedulers, is_reached=self.settings.is_one_process),
        )

    def _make_trace_routes(self) -> TraceRoutes | None:
        """Return the collector of traces; None if the developer uses another one."""
        from baton import composition

        if self.environment["BATON_TRACES_ENDPOINT"] != f"{self.url}{TRACES_PATH}":
            return None
        return TraceRoutes(LocalTraces(), lambda: composition.deployed_ports().verifier)

    def _make_management_api(self) -> AsgiApp:
        return ManagementApi(self.connections)

    def _start_schedules(self) -> None:
        """Start the template's schedules that are enabled, unless the settings turn schedules off."""
        sweep_seconds = self.settings.sweep_seconds
        for schedule in self.stack.schedules:
            invoke = partial(self.functions.invoke, schedule.function)
            seconds = schedule.seconds if sweep_seconds is None else sweep_seconds
            # The stored data may hold work that an ended process has not finished.
            scheduler = Scheduler(schedule, invoke, seconds, at_once=self.settings.data_dir is not None)
            self._schedulers[schedule.function] = scheduler
            if schedule.enabled and sweep_seconds != 0:
                self._running.callback(scheduler.stop)
                scheduler.start()

    def _start_object_events(self, moto: MotoServer) -> None:
        """Invoke functions for stored objects from now on."""
        events = ObjectEvents(self.stack.object_rules, self.functions.invoke)
        self._running.callback(events.stop)
        moto.created = events.report_created
