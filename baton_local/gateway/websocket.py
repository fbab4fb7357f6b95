"""The WebSocket API: the life of a connection, from the authorizer to ``$disconnect``."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from baton.concurrency.tasks import stop_all
from baton_local.functions import Invocable
from baton_local.gateway.authorizer import Refused, authorize
from baton_local.gateway.callers import read_caller
from baton_local.gateway.connections import Close, Connection, Connections, Frame
from baton_local.gateway.fair_gate import FairGate
from baton_local.gateway.socket_events import Handshake
from baton_local.serving.asgi import Receive, Scope, Send
from baton_local.stack.apis import SocketApi

logger = logging.getLogger("baton_local.gateway")


@dataclass(frozen=True)
class SocketLimits:
    """API Gateway's limits, in seconds."""

    idle: float = 600.0
    """The time without a frame in either direction."""
    lifetime: float = 7200.0
    integration: float = 29.0


class SocketGateway:
    """An ASGI app that serves the template's WebSocket API."""

    def __init__(
        self,
        api: SocketApi,
        functions: Mapping[str, Invocable],
        connections: Connections,
        limits: SocketLimits = SocketLimits(),
        gate: FairGate | None = None,
    ) -> None:
        self._gate = gate or FairGate(lambda: False)
        self._api = api
        self._functions = functions
        self._connections = connections
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        await receive()  # websocket.connect
        handshake, caller = Handshake(self._api, scope), read_caller(scope)
        try:
            async with self._gate.turn(caller):
                if self._api.authorizer:
                    handshake.authorizer = await authorize(self._functions[self._api.authorizer], handshake)
                subprotocol = await self._connect(handshake)
        except Refused as refused:
            await _refuse(send, refused)
            return
        connection = Connection(handshake, caller)
        try:
            await send({"type": "websocket.accept", "subprotocol": subprotocol})
        except Exception:  # noqa: BLE001  uvicorn has its own class for a client that left
            closing = Close(1006, "Connection lost")
        else:
            self._connections.add(connection)
            closing = await self._serve(connection, receive, send)
        await self._run("$disconnect", handshake.make_disconnect_event(closing.code, closing.reason))

    async def _connect(self, handshake: Handshake) -> str | None:
        """Run ``$connect`` and return the subprotocol that the route chose, or None. Raises ``Refused``."""
        if "$connect" not in self._api.routes:
            return None
        try:
            answer = await self._invoke("$connect", handshake.make_connect_event())
            status = int(answer["statusCode"])
        except Exception as problem:
            logger.exception("$connect failed")
            raise Refused(502, "Internal server error") from problem
        if not 200 <= status < 300:
            raise Refused(status, str(answer.get("body") or "Forbidden"))
        headers = {name.lower(): value for name, value in (answer.get("headers") or {}).items()}
        return headers.get("sec-websocket-protocol")

    async def _serve(self, connection: Connection, receive: Receive, send: Send) -> Close:
        """Move frames both ways until a side closes the connection or a limit ends it.

        Return the close code and the reason.
        """
        incoming: asyncio.Queue[str | None] = asyncio.Queue()
        activity = asyncio.Event()
        handling = asyncio.create_task(self._handle(connection, incoming))
        tasks = [
            asyncio.create_task(_receive(receive, incoming, activity)),
            asyncio.create_task(_send(connection, send, activity)),
            asyncio.create_task(self._wait_for_limit(activity)),
        ]
        try:
            await asyncio.wait([handling, *tasks], return_when=asyncio.FIRST_COMPLETED)
            self._connections.remove(connection)
            incoming.put_nowait(None)
            await handling  # frames that arrived before the end are handled
            closing = next(task.result() for task in tasks if task.done())
        except Exception:
            logger.exception("connection failed")
            closing = Close(1011, "Internal server error")
        finally:
            self._connections.remove(connection)
            await stop_all(*tasks, handling)
        with contextlib.suppress(Exception):  # the client may be gone already
            await send({"type": "websocket.close", "code": closing.code, "reason": closing.reason})
        return closing

    async def _handle(self, connection: Connection, incoming: asyncio.Queue[str | None]) -> None:
        """Give frames to their routes, one after the other, until None marks the end."""
        while (body := await incoming.get()) is not None:
            route_key = _select_route(self._api, body)
            event = connection.handshake.make_message_event(route_key, body)
            if route_key in self._api.routes:
                async with self._gate.turn(connection.caller):
                    has_failed = not await self._run(route_key, event)
            else:
                has_failed = True
            if has_failed:
                context = event["requestContext"]
                message = "Internal server error" if route_key in self._api.routes else "Forbidden"
                frame = {"message": message, "connectionId": context["connectionId"], "requestId": context["requestId"]}
                connection.outgoing.put_nowait(Frame(json.dumps(frame)))

    async def _wait_for_limit(self, activity: asyncio.Event) -> Close:
        """Wait for the idle timeout or the maximum lifetime."""
        try:
            async with asyncio.timeout(self._limits.lifetime):
                while True:
                    activity.clear()
                    try:
                        await asyncio.wait_for(activity.wait(), self._limits.idle)
                    except TimeoutError:
                        return Close(1001, "Going away")
        except TimeoutError:
            return Close(1001, "Going away")

    async def _run(self, route_key: str, event: dict[str, Any]) -> bool:
        """Invoke a route and return whether it succeeded: without an exception, which is logged, or a status of 5xx."""
        try:
            answer = await self._invoke(route_key, event)
        except Exception:
            logger.exception("%s failed", route_key)
            return False
        return not isinstance(answer, dict) or int(answer.get("statusCode", 200)) < 500

    async def _invoke(self, route_key: str, event: dict[str, Any]) -> Any:
        """Return the answer of a route's function; a status of 200 if there is no such route.

        Raises the function's exceptions, and ``TimeoutError`` after the limit of an integration.
        """
        if route_key not in self._api.routes:
            return {"statusCode": 200}
        function = self._functions[self._api.routes[route_key]]
        invocation = asyncio.shield(asyncio.wrap_future(function.invoke(event)))
        return await asyncio.wait_for(invocation, self._limits.integration)


async def _receive(receive: Receive, incoming: asyncio.Queue[str | None], activity: asyncio.Event) -> Close:
    """Put the client's frames into ``incoming`` until the client leaves or sends a binary frame. Return that end."""
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            return Close(message.get("code") or 1005, message.get("reason") or "")
        text = message.get("text")
        if text is None:
            return Close(1003, "Binary frames are not supported")
        activity.set()
        incoming.put_nowait(text)


async def _send(connection: Connection, send: Send, activity: asyncio.Event) -> Close:
    """Send the outgoing frames. Return how the connection ends: by a request to close it, or because it is lost."""
    while True:
        item = await connection.outgoing.get()
        if isinstance(item, Close):
            return item
        try:
            await send({"type": "websocket.send", "text": item.text})
        except Exception:  # noqa: BLE001  uvicorn has its own class for a client that left
            return Close(1006, "Connection lost")
        activity.set()


async def _refuse(send: Send, refused: Refused) -> None:
    body = json.dumps({"message": refused.message}).encode()
    headers = [(b"content-type", b"application/json")]
    await send({"type": "websocket.http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})


def _select_route(api: SocketApi, body: str) -> str:
    """Return the route that the selection expression (``$request.body.<path>``) selects, or ``$default``."""
    try:
        value: Any = json.loads(body)
        for name in api.selection.removeprefix("$request.body.").split("."):
            value = value[name]
    except (ValueError, KeyError, TypeError, RecursionError):
        return "$default"
    return value if isinstance(value, str) and value in api.routes and not value.startswith("$") else "$default"
