"""People who use a local cloud over HTTP and WebSocket. They know nothing of the code that serves them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import ssl
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

Json = dict[str, Any]

TENANT = "acme"
PATIENCE_SECONDS = 60.0
"""Only a failing test waits so long."""
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""A context without certificates: reading those for each request would take most of a test's time."""


def make_id(name: str) -> str:
    """Return the id that conversations and messages have under a name in every run."""
    return str(uuid.UUID(bytes=hashlib.md5(name.encode(), usedforsecurity=False).digest(), version=4))


@dataclass(frozen=True)
class Person:
    """A user with a token."""

    url: str
    name: str
    token: str

    def request(self, method: str, path: str, body: object = None, **headers: str) -> httpx.Response:
        """Send a request below /v1, and fail if it is refused."""
        answer = self.try_request(method, path, body, **headers)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer

    def try_request(self, method: str, path: str, body: object = None, **headers: str) -> httpx.Response:
        """Send a request below /v1."""
        sent = {"json": body} if body is not None else {}
        return httpx.request(
            method,
            f"{self.url}/v1{path}",
            headers={"Authorization": f"Bearer {self.token}", **headers},
            timeout=PATIENCE_SECONDS,
            trust_env=False,
            verify=NO_TLS,
            **sent,  # type: ignore[arg-type]
        )

    def read(self, path: str) -> Json:
        """Read JSON."""
        body: Json = self.request("GET", path).json()
        return body

    def items(self, path: str) -> list[Json]:
        """Read a list."""
        items: list[Json] = self.read(path)["items"]
        return items

    def post(self, path: str, body: object = None) -> Json:
        """Post JSON."""
        answer: Json = self.request("POST", path, {} if body is None else body).json()
        return answer

    def ask(self, thread: str, text: str, **fields: object) -> Json:
        """Send a message to the conversation with this name, and wait for the answer."""
        body = {"sessionId": make_id(thread), "messageId": make_id(f"{thread} {text}"), "message": text, **fields}
        return self.post("/messages", body)

    def thread(self, name: str) -> Json:
        """Read a conversation."""
        return self.read(f"/threads/{make_id(name)}")

    def texts(self, thread: str) -> list[str]:
        """Return what was said in a conversation."""
        return [item["content"] for item in self.items(f"/threads/{make_id(thread)}/messages")]

    def run(self, thread: str, **fields: object) -> list[Json]:
        """Post an AG-UI run to a conversation, and return its events."""
        body: Json = {
            "threadId": make_id(thread),
            "runId": str(uuid.uuid4()),
            "state": {},
            "messages": [],
            "tools": [],
            "context": [],
            "forwardedProps": {},
            **fields,
        }
        answer = self.request("POST", "/runs", body)
        return [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]

    @contextmanager
    def connect(self) -> Iterator[ClientConnection]:
        """Open a WebSocket."""
        offered = [Subprotocol("baton.v1"), Subprotocol(self.token)]
        with connect(f"ws{self.url.removeprefix('http')}/ws", subprotocols=offered, proxy=None) as connection:
            yield connection
            with contextlib.suppress(OSError):
                connection.close()


def send(connection: ClientConnection, action: str, **fields: object) -> None:
    """Send an action over a WebSocket."""
    connection.send(json.dumps({"action": action, **fields}))


def receive_until(connection: ClientConnection, kind: str) -> list[Json]:
    """Return the events up to one of a type, or to an error."""
    events: list[Json] = []
    while True:
        frame = json.loads(connection.recv(timeout=PATIENCE_SECONDS))
        for event in frame if isinstance(frame, list) else [frame]:
            events.append(event)
            if event["type"] in (kind, "RUN_ERROR"):
                return events


def wait_for(condition: Callable[[], Any]) -> Any:
    """Return the result of ``condition`` once it is true."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (result := condition()):
        assert time.monotonic() < end, "What was waited for did not happen."
        time.sleep(0.1)
    return result


@dataclass(frozen=True)
class World:
    """A running local cloud."""

    url: str

    def person(self, name: str, *permissions: str) -> Person:
        """Sign a user in."""
        body = {"tenant": TENANT, "user": name, "name": name.title(), "permissions": list(permissions)}
        return Person(self.url, name, self._post("token", body)["token"])

    def pass_time(self, seconds: int) -> None:
        """Have time pass, with everything that becomes due meanwhile."""
        self._post("clock", {"advanceSeconds": seconds})

    def _post(self, path: str, body: Json) -> Json:
        answer = httpx.post(
            f"{self.url}/local/{path}", json=body, timeout=PATIENCE_SECONDS, trust_env=False, verify=NO_TLS
        )
        instance: Json = answer.raise_for_status().json()
        return instance
