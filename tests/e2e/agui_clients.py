"""The AG-UI project's own JavaScript clients, unchanged: of the line before 1.0, and of 1.x."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.sockets import PATIENCE_SECONDS
from tests.e2e.users import Json, User
from tests.npm import install, program

SOURCE = Path(__file__).parent / "agui"
OLDER = ("0.0.58", "0.0.59")
"""The content that assistant-ui and CopilotKit carry."""
NEWER = ("1.0.0",)
MAX_LINE = 64 * 1024 * 1024


@dataclass(frozen=True)
class Heard:
    """The client's view of a stream."""

    events: list[Json]
    """Those that it took, as it understands them."""
    errors: list[str]
    """The error with which it gave up, and the codes of the runs that failed."""
    messages: list[Json]
    state: Json
    interrupts: list[Json]
    result: Any
    warnings: list[str]

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    def of_type(self, kind: str) -> list[Json]:
        """The events of one type."""
        return [event for event in self.events if event["type"] == kind]

    @property
    def last(self) -> str:
        """The last message."""
        messages = [message.get("content") for message in self.messages if message["role"] == "assistant"]
        return str(messages[-1])


@dataclass
class AgUiClient:
    """One version of the client, in a process that holds any number of conversations."""

    version: str
    process: asyncio.subprocess.Process
    requests: int = 0

    @property
    def is_older(self) -> bool:
        """Whether the client's version is below 1.0."""
        return self.version in OLDER

    async def run(self, user: User, thread_id: str, content: object = None, **fields: object) -> Heard:
        """Say ``content``, or give ``answers`` to what the client holds for open; check that it could be followed."""
        if content is not None:
            fields["content"] = content
        url = f"{user.cloud.url}/v1/runs"
        return self._parse(await self._ask("run", url=url, token=user.token, threadId=thread_id, **fields))

    async def read(self, user: User, thread_id: str, **query: str) -> Heard:
        """Take all events of a thread, from the first on, as a client that has nothing yet."""
        fields = "".join(f"&{name}={value}" for name, value in query.items())
        url = f"{user.cloud.url}/v1/threads/{thread_id}/events?after=0{fields}"
        return self._parse(await self._ask("read", url=url, token=user.token))

    async def parse_stream(self, stream: str) -> Heard:
        """Parse the text of a stream."""
        return self._parse(await self._ask("hear", stream=stream))

    async def complaints(self, events: Sequence[Json]) -> list[str]:
        """The problems that the client's schemas find in the events."""
        results = (await self._ask("check", events=events))["answer"]
        return [f"{complaint} {event}" for event, complaint in zip(events, results, strict=True) if complaint]

    async def _ask(self, action: str, **fields: object) -> Json:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.requests += 1
        self.process.stdin.write(json.dumps({"do": action, "number": self.requests, **fields}).encode() + b"\n")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                line = await self.process.stdout.readline()
                assert line, "The client has ended; its standard error says why."
                answer: Json = json.loads(line)
                if answer["number"] == self.requests:  # not one that a test before has given up on
                    return answer

    def _parse(self, reported: Json) -> Heard:
        return Heard(**reported["answer"], warnings=reported["warnings"])


@pytest.fixture(scope="session")
def clients_folder() -> Path:
    """A folder with the clients installed as the lock file says, kept between test runs."""
    return install(SOURCE)


@pytest.fixture(scope="session")
async def running_clients(clients_folder: Path) -> AsyncIterator[dict[str, AgUiClient]]:
    """Every version, each in one process."""
    with tempfile.TemporaryDirectory(dir=clients_folder) as beside:  # beside the packages that it imports
        script = shutil.copy(SOURCE / "client.mjs", beside)
        clients = {version: AgUiClient(version, await start_node(script, version)) for version in (*OLDER, *NEWER)}
        yield clients
        for client in clients.values():
            assert client.process.stdin is not None
            client.process.stdin.close()
            await client.process.wait()


async def start_node(script: str | Path, version: str) -> asyncio.subprocess.Process:
    """Node with one version of the client."""
    return await asyncio.create_subprocess_exec(
        program("node"),
        str(script),
        f"ag-ui-client-{version}",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=MAX_LINE,
    )


@pytest.fixture(params=[*OLDER, *NEWER])
def client(request: pytest.FixtureRequest, running_clients: dict[str, AgUiClient]) -> AgUiClient:
    """Each version in turn."""
    return running_clients[request.param]


@pytest.fixture(params=OLDER)
def older_client(request: pytest.FixtureRequest, running_clients: dict[str, AgUiClient]) -> AgUiClient:
    """Each version of the line before 1.0."""
    return running_clients[request.param]


def select_shared_fields(message: Json) -> Json:
    """Return the fields on which the client and the store must agree."""
    return {name: message.get(name) for name in ("id", "role", "content", "name")}
