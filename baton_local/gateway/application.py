"""The ASGI app of the local cloud: its own paths first, then the WebSocket API, then the REST API."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from baton.api.http.middleware import ResponseHeaders
from baton_local.advanced_clock import AdvancedClock
from baton_local.gateway.http import RestGateway
from baton_local.gateway.websocket import SocketGateway
from baton_local.serving.asgi import AsgiApp, Receive, Scope, Send
from baton_local.serving.hosts import LocalHosts, refuse
from baton_local.tokens import EmbedKey
from baton_local.traces import PATH as TRACES_PATH
from baton_local.traces import TraceRoutes
from baton_local.web import CONSOLE_PAGE, WIDGET

SOCKET_PATH = "/ws"
MANAGEMENT_PATH = "/local/gateway"
CONSOLE_PATH = "/monitor"
CONSOLE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self';"
        " connect-src 'self' ws: wss: http://127.0.0.1:*; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
        " require-trusted-types-for 'script'; trusted-types lit-html baton-chat"
    ),
    "Referrer-Policy": "no-referrer",
}
PAGE_HEADERS = {
    # Pictures and files may have the origin of any agent or bucket.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self';"
        " img-src 'self' data: blob: http://127.0.0.1:* http://localhost:* https:;"
        " connect-src 'self' ws: wss: http://127.0.0.1:* http://localhost:* https:; base-uri 'none';"
        " form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script';"
        " trusted-types lit-html baton-chat"
    ),
    "Referrer-Policy": "no-referrer",
}
NOT_BUILT = "The web files are not built: run `make web`, then load this page again.\n"


class Application:
    """An ASGI app that dispatches by path. It runs the life cycle (ASGI lifespan) of the web apps behind it."""

    def __init__(
        self,
        rest: RestGateway,
        sockets: SocketGateway,
        management: AsgiApp,
        key: EmbedKey,
        page: Path,
        widget: Path,
        console: Path,
        web_apps: Mapping[str, AsgiApp],
        model: AsgiApp | None,
        about: Mapping[str, Any],
        hosts: LocalHosts,
        traces: TraceRoutes | None = None,
        clock: AdvancedClock | None = None,
    ) -> None:
        """``page`` is the demo page's folder, ``widget`` that of modules for other pages, ``console`` the console's.

        Each folder may be absent. ``model`` is the demo model, or None.

        ``about`` is the answer to ``GET /local/about``. Only requests to ``hosts`` get the local cloud's own routes.
        The product's two APIs do not need this check, since they require a token.

        ``traces`` is None if functions send their traces elsewhere, and ``clock`` if time cannot be advanced.
        """
        self._rest = rest
        self._sockets = sockets
        self._management = management
        self._hosts = hosts
        self._page = page
        self._widget = widget
        self._console = console
        apps = [*web_apps.values(), *([model] if model else [])]
        routes: list[Route | Mount] = [
            Route("/local/token", key.make_route()),
            Route("/local/health", lambda _: JSONResponse({"status": "ok"})),
            Route("/local/about", lambda _: JSONResponse(dict(about))),
        ]
        if clock:
            routes.append(Route("/local/clock", clock.answer, methods=["POST"]))
        if traces:
            routes += traces.make_routes()
        if model:
            routes.append(Mount("/local/openai/v1", model))
        if self._has_page:
            routes.append(Route("/", self._serve_page))
            routes.append(Mount("/local/page", StaticFiles(directory=page)))
        # Modules that pages of any origin load. They may be built after the start.
        self._modules = StaticFiles(directory=widget, check_dir=False)
        routes.append(Mount("/widget", CORSMiddleware(self._serve_widget, allow_origins=["*"])))
        self._console_files = StaticFiles(directory=console, check_dir=False, html=True)
        config = {"local": True} | ({"traces": TRACES_PATH} if traces else {})
        routes.append(Route(f"{CONSOLE_PATH}/config.json", lambda _: JSONResponse(config)))
        routes.append(Mount(CONSOLE_PATH, self._serve_console))
        self._own = ResponseHeaders(Starlette(routes=routes, lifespan=_make_lifespan(apps)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, connection, or the server's own life cycle."""
        path = scope.get("path", "")
        if scope["type"] == "websocket":
            if path != SOCKET_PATH:
                await receive()
                await send({"type": "websocket.close", "code": 1008})
                return
            await self._sockets(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._own(scope, receive, send)
        elif (
            path.startswith(("/local/", "/widget/", f"{CONSOLE_PATH}/"))
            or path == CONSOLE_PATH
            or (path == "/" and self._has_page)
        ):
            if reason := self._hosts.find_refusal(scope):
                await refuse(send, reason)
            elif path.startswith(f"{MANAGEMENT_PATH}/@connections/"):
                await self._management(scope, receive, send)
            else:
                await self._own(scope, receive, send)
        else:
            await self._rest(scope, receive, send)

    def _serve_page(self, _: Request) -> Response:
        """Answer with the demo page, or with how to build it."""
        return (
            FileResponse(self._page / "index.html", headers=PAGE_HEADERS)
            if self._is_built
            else _make_not_built_answer()
        )

    async def _serve_widget(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a module of the widget, or with how to build them."""
        await (self._modules if self._is_built else _make_not_built_answer())(scope, receive, send)

    async def _serve_console(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the console's page and modules, with headers that keep browsers from running other scripts there.

        If the console is not built, answer with how to build it.
        """
        is_built = (self._console / CONSOLE_PAGE).is_file()

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = [(name.lower().encode(), value.encode()) for name, value in CONSOLE_HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *headers]}
            await send(message)

        await (self._console_files if is_built else _make_not_built_answer())(scope, receive, send_guarded)

    @property
    def _is_built(self) -> bool:
        return (self._widget / WIDGET).is_file()

    @property
    def _has_page(self) -> bool:
        return (self._page / "index.html").is_file()


def _make_not_built_answer() -> Response:
    return PlainTextResponse(NOT_BUILT, status_code=503)


def _make_lifespan(apps: list[AsgiApp]) -> Any:
    """Return a life cycle that begins and ends those of the Starlette apps among ``apps``."""

    @asynccontextmanager
    async def run_lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for app in apps:
                router = getattr(app, "router", None)
                if router is not None:
                    await stack.enter_async_context(router.lifespan_context(app))
            yield

    return run_lifespan
