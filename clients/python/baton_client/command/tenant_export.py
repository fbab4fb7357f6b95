"""The export of a whole tenant into a folder. An interrupted export continues with the missing files."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from baton_client.addresses import path
from baton_client.command.connection import Connection, Json
from baton_client.command.exits import CommandError, ExitCode

MAX_NAME = 200
"""Characters of a file's name. The ids of users whose names would be longer are hashed."""
LISTS = {
    "procedures": ("/v1/agents/{agent_id}/procedures", ("pending", "approved", "rejected", "retired")),
    "documents": ("/v1/agents/{agent_id}/documents", ()),
    "sources": ("/v1/agents/{agent_id}/sources", ()),
}
"""The lists of each agent, and the states by which their items are requested."""


class TenantExport:
    """A tenant's data in a folder: one JSON value a line in each file. A file exists only if it is complete."""

    def __init__(self, connection: Connection, folder: Path) -> None:
        self._connection = connection
        self._folder = folder
        self.lines = 0
        """Lines that were written."""
        self.skipped = 0
        """Files that an earlier export has written."""

    async def run(self, tenant_id: str) -> None:
        """Write all files. Raises ``CommandError`` if the folder has the export of another tenant."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        mark = self._folder / "tenant.json"
        if mark.exists() and json.loads(mark.read_text())["tenantId"] != tenant_id:
            raise CommandError(f"{self._folder} has the export of another tenant.", ExitCode.CONFLICT)
        if not mark.exists() and any(self._folder.iterdir()):
            raise CommandError(f"{self._folder} is not empty, and has no export.", ExitCode.CONFLICT)
        mark.write_text(json.dumps({"tenantId": tenant_id}))
        for name in ("tenant/limits", "retention"):
            await self._write(f"settings/{name.rpartition('/')[2]}.jsonl", self._value(f"/v1/{name}"))
        for agent in await self._connection.items("/v1/agents"):
            await self._write_agent(agent["id"])
        await self._write("evaluations.jsonl", self._evaluations())
        await self._write("schedules.jsonl", self._items("/v1/schedules", scope="tenant"))
        await self._write("threads.jsonl", self._items("/v1/threads", scope="tenant"))
        for user_id in sorted(self._find_users()):
            address = path("/v1/users/{user_id}/export", user_id=user_id)
            await self._write(f"users/{file_name(user_id)}.jsonl", self._connection.lines(address))
        # Last: the export of each user is audited.
        await self._write("audit.jsonl", self._connection.lines("/v1/audit/export"))
        (self._folder / "complete").touch()

    async def _write_agent(self, agent_id: str) -> None:
        folder = f"agents/{file_name(agent_id)}"
        await self._write(f"{folder}/versions.jsonl", self._versions(agent_id))
        for name, (address, states) in LISTS.items():
            params = {"status": list(states)} if states else {}
            await self._write(f"{folder}/{name}.jsonl", self._items(path(address, agent_id=agent_id), **params))

    async def _versions(self, agent_id: str) -> AsyncIterator[Json]:
        """Yield all versions of an agent with their definitions. A shipped agent has only its present version."""
        address = path("/v1/agents/{agent_id}", agent_id=agent_id)
        agent = await self._connection.get(address)
        if agent["version"] is None:
            yield agent
            return
        async for version in self._items(f"{address}/versions"):
            yield await self._connection.get(f"{address}/versions/{version['version']}")

    async def _evaluations(self) -> AsyncIterator[Json]:
        async for evaluation in self._items("/v1/evaluations"):
            yield await self._connection.get(path("/v1/evaluations/{evaluation_id}", evaluation_id=evaluation["id"]))

    async def _value(self, address: str) -> AsyncIterator[Json]:
        yield await self._connection.get(address)

    async def _items(self, address: str, **params: object) -> AsyncIterator[Json]:
        """Yield the items of a list, a page at a time."""
        cursor: str | None = None
        while True:
            page = await self._connection.get(address, limit=100, cursor=cursor, **params)
            for item in page["items"]:
                yield item
            cursor = page.get("nextCursor")
            if cursor is None:
                return

    def _find_users(self) -> set[str]:
        """Return the users who have conversations or schedules."""
        users = set()
        for name in ("threads", "schedules"):
            with (self._folder / f"{name}.jsonl").open() as lines:
                users |= {user for line in lines if (user := json.loads(line).get("userId")) is not None}
        return users

    async def _write(self, name: str, values: AsyncIterator[Json]) -> None:
        """Write a file, unless it exists."""
        file = self._folder / name
        if file.exists():
            self.skipped += 1
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f"{file.name}.part")
        with draft.open("w") as opened:
            async for value in values:
                opened.write(json.dumps(value) + "\n")
                self.lines += 1
        draft.replace(file)


def file_name(name: str) -> str:
    """Return the name of a file or folder for an id: percent-encoded, or the id's digest if that is too long."""
    encoded = quote(name, safe="").replace(".", "%2E")
    return encoded if len(encoded) <= MAX_NAME else f"~{sha256(name.encode()).hexdigest()}"
