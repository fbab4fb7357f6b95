"""Lambda's Runtime API and Extensions API for one execution environment.

Written from AWS's documentation: "Lambda runtime API" (docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html), "Lambda
extensions API" (.../runtimes-extensions-api.html), and for streams "Building a custom runtime", section "Implementing
response streaming" (.../runtimes-custom.html): ``Lambda-Runtime-Function-Response-Mode: streaming``, a chunked body,
and errors in the trailers ``Lambda-Runtime-Function-Error-Type`` and ``-Error-Body`` (base64). AWS's own emulator,
aws-lambda-rie, delivers an answer only when it is complete, so it cannot show a stream.
"""

import base64
import contextlib
import json
import queue
import socket
import threading
import uuid
from collections.abc import Callable, Iterable
from functools import partial
from http import HTTPStatus

import h11

from baton_local.lambda_runtime.invocations import FunctionFailed, Invocation

RUNTIME = "/2018-06-01/runtime"
EXTENSION = "/2020-01-01/extension"
PIECE = 64 * 1024
"""The most bytes that are read at once."""
Headers = list[tuple[str, str]]


class RuntimeApi:
    """A server for one runtime and its extensions on a port of this machine, with a thread for each connection."""

    def __init__(
        self,
        taken: Callable[[Invocation], None],
        idle: Callable[[], None],
        init_failed: Callable[[FunctionFailed], None],
    ) -> None:
        """Begin to listen. ``taken`` is called with each event that the runtime takes, ``idle`` when all wait.

        ``init_failed`` is called with the error of a runtime that could not start.
        """
        self._taken, self._idle, self._init_failed = taken, idle, init_failed
        self._events: queue.SimpleQueue[Invocation] = queue.SimpleQueue()
        self._current: Invocation | None = None
        self._outcome: Callable[[], None] | None = None
        """Ends the answer in progress. It is called when the runtime asks for the next event."""
        self._lock = threading.Lock()
        self._end: FunctionFailed | None = None
        """The reason why no event is handed over any more; None before."""
        self._runtime_waits = False
        self._extensions: dict[str, bool] = {}
        """Identifier -> whether it waits for an event."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        """``AWS_LAMBDA_RUNTIME_API``"""
        threading.Thread(target=self._accept, name="runtime API", daemon=True).start()

    def put(self, invocation: Invocation) -> None:
        """Hand the event to the runtime as soon as it asks. After ``fail_all`` the event fails."""
        with self._lock:
            end = self._end
            if end is None:
                self._events.put(invocation)
        if end is not None:
            invocation.fail(end)

    def fail_all(self, problem: FunctionFailed) -> None:
        """Fail the invocation in progress unless it is answered, the waiting ones, and all later ones."""
        with self._lock:
            self._end = problem
        self._settle()
        if self._current:
            self._current.fail(problem)
        with contextlib.suppress(queue.Empty):
            while True:
                self._events.get_nowait().fail(problem)

    def close(self) -> None:
        """Stop accepting connections."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), name="runtime API", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, h11.ProtocolError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            wire = _Wire(connection)
            while request := wire.read_request():
                self._dispatch(wire, request.method.decode(), request.target.decode(), _decode_headers(request.headers))
                wire.start_next()

    def _dispatch(self, wire: "_Wire", method: str, path: str, headers: dict[str, str]) -> None:
        """Answer one request of the runtime or of an extension."""
        match method, path.removeprefix(RUNTIME).split("/"):
            case "GET", ["", "invocation", "next"]:
                wire.read_body()
                self._send_next(wire)
            case "POST", ["", "invocation", request_id, "response"]:
                self._take_response(wire, request_id, headers)
            case "POST", ["", "invocation", request_id, "error"]:
                self._take_error(wire, request_id, _read_problem(headers, wire.read_body()))
            case "POST", ["", "init", "error"]:
                problem = _read_problem(headers, wire.read_body())
                wire.respond(HTTPStatus.ACCEPTED, {"status": "OK"})
                self._init_failed(problem)
            case "POST", _ if path == f"{EXTENSION}/register":
                self._register(wire)
            case "GET", _ if path == f"{EXTENSION}/event/next":
                wire.read_body()
                self._wait_for_event(wire, headers.get("lambda-extension-identifier", ""))
            case _:
                wire.read_body()
                wire.respond(HTTPStatus.NOT_FOUND, {"errorMessage": path, "errorType": "InvalidPath"})

    def _send_next(self, wire: "_Wire") -> None:
        """Answer the runtime's request for an event, once there is one."""
        self._note_waiting(None)
        self._settle()  # after the environment is idle, so that the next event can use it
        invocation = self._events.get()
        self._runtime_waits = False
        self._current = invocation
        self._taken(invocation)
        wire.respond_raw(HTTPStatus.OK, invocation.make_headers(), invocation.event)

    def _take_response(self, wire: "_Wire", request_id: str, headers: dict[str, str]) -> None:
        """Pass on the pieces of an answer, which ends when the runtime asks for the next event."""
        invocation = self._current
        if invocation is None or invocation.id != request_id:
            wire.read_body()
            wire.respond(HTTPStatus.BAD_REQUEST, {"errorType": "InvalidRequestID", "errorMessage": request_id})
            return
        trailers = wire.read_pieces(invocation.answer.add)
        if error_type := trailers.get("lambda-runtime-function-error-type"):
            body = base64.b64decode(trailers.get("lambda-runtime-function-error-body", ""))
            self._outcome = partial(invocation.fail, FunctionFailed(error_type, _read_message(body)))
        else:
            self._outcome = invocation.end
        wire.respond(HTTPStatus.ACCEPTED, {"status": "OK"})

    def _take_error(self, wire: "_Wire", request_id: str, problem: FunctionFailed) -> None:
        """Note the error of an invocation, which fails when the runtime asks for the next event."""
        invocation = self._current
        if invocation is None or invocation.id != request_id:
            wire.respond(HTTPStatus.BAD_REQUEST, {"errorType": "InvalidRequestID", "errorMessage": request_id})
        else:
            self._outcome = partial(invocation.fail, problem)
            wire.respond(HTTPStatus.ACCEPTED, {"status": "OK"})

    def _settle(self) -> None:
        """End the answer in progress, if the runtime has sent one."""
        outcome, self._outcome = self._outcome, None
        if outcome:
            outcome()

    def _register(self, wire: "_Wire") -> None:
        wire.read_body()
        identifier = str(uuid.uuid4())
        with self._lock:
            self._extensions[identifier] = False
        headers = [("Lambda-Extension-Identifier", identifier), ("Content-Type", "application/json")]
        wire.respond_raw(HTTPStatus.OK, headers, b"{}")

    def _wait_for_event(self, wire: "_Wire", identifier: str) -> None:
        """Keep an extension waiting until its end, because Baton's extensions register for no event."""
        if identifier not in self._extensions:
            wire.respond(HTTPStatus.FORBIDDEN, {"errorType": "Extension.UnknownExtensionIdentifier"})
            return
        self._note_waiting(identifier)
        wire.wait_for_end()

    def _note_waiting(self, extension: str | None) -> None:
        """Note that an extension waits, or the runtime if it is None. Call ``idle`` if all wait and no event does."""
        with self._lock:
            if extension is None:
                self._runtime_waits = True
            else:
                self._extensions[extension] = True
            is_idle = self._runtime_waits and all(self._extensions.values()) and self._events.empty()
        if is_idle:
            self._idle()


class _Wire:
    """One connection, which h11 parses."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._state = h11.Connection(h11.SERVER)

    def read_request(self) -> h11.Request | None:
        """Return the next request's head, or ``None`` if the client has closed the connection."""
        event = self._read_event()
        return event if isinstance(event, h11.Request) else None

    def read_body(self) -> bytes:
        """Return the request's body."""
        body = bytearray()
        self.read_pieces(body.extend)
        return bytes(body)

    def read_pieces(self, add: Callable[[bytes], object]) -> dict[str, str]:
        """Pass the body's pieces to ``add`` and return the trailers. Raises ``ConnectionError`` if it is incomplete."""
        while True:
            event = self._read_event()
            if isinstance(event, h11.Data):
                add(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                return _decode_headers(event.headers)
            else:
                raise ConnectionError("The request is incomplete.")

    def respond(self, status: HTTPStatus, content: dict[str, str]) -> None:
        """Send a JSON object."""
        self.respond_raw(status, [("Content-Type", "application/json")], json.dumps(content).encode())

    def respond_raw(self, status: HTTPStatus, headers: Headers, body: bytes) -> None:
        """Send a whole response."""
        head = h11.Response(status_code=status, headers=[*headers, ("Content-Length", str(len(body)))])
        parts = (head, h11.Data(data=body), h11.EndOfMessage())
        self._connection.sendall(b"".join(self._state.send(part) or b"" for part in parts))

    def start_next(self) -> None:
        """Prepare for the next request. Raises ``ConnectionError`` if the connection cannot be used again."""
        if self._state.our_state is not h11.DONE or self._state.their_state is not h11.DONE:
            raise ConnectionError("The connection ends.")
        self._state.start_next_cycle()

    def wait_for_end(self) -> None:
        """Wait until the client has closed the connection, then raise ``ConnectionError``."""
        while self._connection.recv(PIECE):
            pass
        raise ConnectionError("The client has gone.")

    def _read_event(self) -> object:
        while (event := self._state.next_event()) is h11.NEED_DATA:
            if self._state.they_are_waiting_for_100_continue:
                continuation = h11.InformationalResponse(status_code=HTTPStatus.CONTINUE, headers=[])
                self._connection.sendall(self._state.send(continuation) or b"")
            self._state.receive_data(self._connection.recv(PIECE))
        return event


def _decode_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}


def _read_problem(headers: dict[str, str], body: bytes) -> FunctionFailed:
    """Return the error that a runtime reports (ErrorRequest: errorMessage, errorType, stackTrace)."""
    try:
        reported = json.loads(body)
        named = reported.get("errorType")
    except (ValueError, RecursionError, AttributeError):
        named = None
    return FunctionFailed(str(named or headers.get("lambda-runtime-function-error-type", "Error")), _read_message(body))


def _read_message(body: bytes) -> str:
    try:
        return str(json.loads(body)["errorMessage"])
    except (ValueError, RecursionError, KeyError, TypeError):
        return body.decode("utf-8", "replace")
