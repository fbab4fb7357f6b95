"""All stand-ins behind one address."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.fault_model import ThreadedServer
from tests.models.standins.bedrock import Bedrock
from tests.models.standins.chat_completions import ChatCompletions
from tests.models.standins.dialects import dialects
from tests.models.standins.journal import Fault, Journal, newest
from tests.models.standins.responses import Responses


class StandIns:
    """The stand-ins of all APIs. Use it as a context manager, to serve them on a free port from a separate thread."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.chat = ChatCompletions(self.journal)
        self.responses = Responses(self.journal)
        self.bedrock = Bedrock(self.journal)
        routes = [
            Route("/", self._index),
            Route("/requests", self._requests),
            Route("/faults", self._add_fault, methods=["POST"]),
            *self.chat.routes,
            *self.responses.routes,
            *self.bedrock.routes,
        ]
        self.app = Starlette(routes=routes)
        self.port = 0
        self._serving = ThreadedServer(self.app)

    @property
    def url(self) -> str:
        """The address, which is also Bedrock's endpoint."""
        return f"http://127.0.0.1:{self.port}"

    def base_url(self, name: str) -> str:
        """Return the base URL of a dialect of Chat Completions or of a host of the Responses API."""
        return f"{self.url}/{name}/v1"

    def reset(self) -> None:
        """Forget requests, faults and changes."""
        self.journal.reset()
        self.chat.reset()
        self.responses.reset()
        self.bedrock.reset()

    def __enter__(self) -> Self:
        self.port = self._serving.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._serving.stop()

    async def _index(self, request: Request) -> Response:
        return JSONResponse({name: dialect.about for name, dialect in dialects().items()})

    async def _requests(self, request: Request) -> Response:
        return JSONResponse(newest(self.journal.requests))

    async def _add_fault(self, request: Request) -> Response:
        options = await request.json()
        who = options.pop("who", "")
        try:
            self.journal.fail(Fault(**options), who=who)
        except TypeError as wrong:
            return JSONResponse({"error": str(wrong)}, 400)
        return JSONResponse({})
