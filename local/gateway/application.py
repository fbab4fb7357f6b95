"""The ASGI app of the local cloud: its own paths first, then the WebSocket API, then the REST API."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import FileResponse, JSONResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from local.gateway.http import RestGateway
from local.gateway.websocket import SocketGateway
from local.serving.asgi import AsgiApp, Receive, Scope, Send
from local.serving.hosts import LocalHosts, refuse
from local.tokens import EmbedKey

SOCKET_PATH = "/ws"
MANAGEMENT_PATH = "/local/gateway"


class Application:
    """Dispatches by path; runs the life cycle (ASGI lifespan) of the web apps behind it."""

    def __init__(
        self,
        rest: RestGateway,
        sockets: SocketGateway,
        management: AsgiApp,
        key: EmbedKey,
        page: Path,
        widget: Path,
        web_apps: Mapping[str, AsgiApp],
        model: AsgiApp | None,
        about: Mapping[str, Any],
        hosts: LocalHosts,
    ) -> None:
        """``page`` is the demo page's folder, ``widget`` that of what other pages load, and ``model`` the demo model.

        Each of them may be absent.

        ``about`` is what ``GET /local/about`` says of this local cloud. Only ``hosts`` get what is its own; the
        product's two APIs do without, since they take nobody without a token.
        """
        self._rest = rest
        self._sockets = sockets
        self._management = management
        self._hosts = hosts
        self._page = page
        living = [*web_apps.values(), *([model] if model else [])]
        routes: list[Route | Mount] = [
            Route("/local/token", key.route()),
            Route("/local/health", lambda _: JSONResponse({"status": "ok"})),
            Route("/local/about", lambda _: JSONResponse(dict(about))),
        ]
        if model:
            routes.append(Mount("/local/openai/v1", model))
        if (page / "index.html").is_file():
            routes.append(Route("/", lambda _: FileResponse(page / "index.html")))
            routes.append(Mount("/local/page", StaticFiles(directory=page)))
        if widget.is_dir():  # modules that pages of any origin load
            routes.append(Mount("/widget", CORSMiddleware(StaticFiles(directory=widget), allow_origins=["*"])))
        self._own = Starlette(routes=routes, lifespan=_lifespan_of(living))

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
        elif path.startswith(("/local/", "/widget/")) or (path == "/" and self._has_page):
            if reason := self._hosts.refusal(scope):
                await refuse(send, reason)
            elif path.startswith(f"{MANAGEMENT_PATH}/@connections/"):
                await self._management(scope, receive, send)
            else:
                await self._own(scope, receive, send)
        else:
            await self._rest(scope, receive, send)

    @property
    def _has_page(self) -> bool:
        return (self._page / "index.html").is_file()


def _lifespan_of(apps: list[AsgiApp]) -> Any:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for app in apps:
                router = getattr(app, "router", None)
                if router is not None:
                    await stack.enter_async_context(router.lifespan_context(app))
            yield

    return lifespan
