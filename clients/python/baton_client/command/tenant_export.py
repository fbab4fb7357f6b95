"""The export of a whole tenant into a folder. An interrupted one continues with its incomplete page."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from contextlib import aclosing
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import httpx

from baton_client.asynchronous.resource import read_page_lines
from baton_client.command.connection import Connection, Json
from baton_client.command.exits import CommandError, ExitCode

ADDRESS = "/v1/tenant-export"
FORMAT = 1
"""The form of the lines that this command knows."""
MAX_NAME = 200
"""Characters of a file's name. A longer one is hashed."""
STATE = "export.json"
BLOCK_BYTES = 256 * 1024


class TenantExport:
    """A tenant's data in a folder: ``records/`` has a file of JSON Lines for each page, ``files/`` the objects.

    ``export.json`` has the position of the next page. It is written after each page, so that a page is either whole or
    read again.
    """

    def __init__(self, connection: Connection, http: httpx.AsyncClient, folder: Path) -> None:
        """``http`` is a client that sends no token, for the addresses of files."""
        self._transport = connection.transport
        self._http = http
        self._folder = folder
        self._state: Json = {"format": FORMAT, "cursor": None, "pages": 0, "complete": False}
        self._counts: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()

    async def run(self) -> Json:
        """Write what is missing, and return the export's state.

        Raises ``CommandError`` if the folder has a complete export or something else, or a file cannot be read.
        """
        self._open()
        while not self._state["complete"]:
            await self._write_page()
        return self._state

    def _open(self) -> None:
        """Read the state of an interrupted export, or begin one."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        state = self._folder / STATE
        if state.exists():
            self._state = json.loads(state.read_text())
            self._counts.update(self._state["counts"])
            self._left_out.update(self._state["leftOut"])
            if self._state["complete"]:
                raise CommandError(
                    f"The export in {self._folder} is complete. Choose another folder.", ExitCode.CONFLICT
                )
        elif any(self._folder.iterdir()):
            raise CommandError(f"{self._folder} is not empty, and has no export.", ExitCode.CONFLICT)
        else:
            self._save()
        (self._folder / "records").mkdir(exist_ok=True)

    async def _write_page(self) -> None:
        """Write a page with its files, and then the position of the next page.

        Files are downloaded after the last line, because a gateway ends a response that stands still.
        """
        number = self._state["pages"] + 1
        page = self._folder / "records" / f"{number:06d}.jsonl"
        draft = page.with_suffix(".part")
        end: Json = {}
        files: list[Json] = []
        written = 0
        with draft.open("w") as opened:
            async with aclosing(read_page_lines(self._transport, ADDRESS, self._state["cursor"])) as lines:
                async for line in lines:
                    match line["type"]:
                        case "begin":
                            self._check(line)
                        case "end":
                            end = line
                        case "file":
                            files.append(line)
                        case _:
                            opened.write(json.dumps(line) + "\n")
                            written += 1
            for file in files:
                opened.write(json.dumps(await self._write_file(file)) + "\n")
        if written or files:
            draft.replace(page)
            self._state["pages"] = number
        else:  # a page of the table without any record of the tenant
            draft.unlink()
        self._counts.update(end["counts"])
        self._left_out.update(end["leftOut"])
        self._state["cursor"] = end["nextCursor"]
        self._state["complete"] = end["nextCursor"] is None
        self._save()

    def _check(self, begin: Mapping[str, object]) -> None:
        """Note the tenant and the beginning of the export.

        Raises ``CommandError`` for another tenant's folder, and for a form that the command does not know.
        """
        if begin["format"] != FORMAT:
            raise CommandError("The server exports in a form that this version of the command does not know.")
        if self._state.get("tenantId", begin["tenantId"]) != begin["tenantId"]:
            raise CommandError(f"{self._folder} has the export of another tenant.", ExitCode.CONFLICT)
        self._state |= {"tenantId": begin["tenantId"], "beganAt": begin["beganAt"]}

    async def _write_file(self, line: Json) -> Json:
        """Write the bytes of an object, unless a file of its size and time is there. Return its line, with the path.

        The file gets the object's time. The line needs headers, so that the object is asked for in any case.
        """
        *folders, name = map(make_file_name, line["name"].split("/"))
        path = Path("files", *folders, f"{name}.bin")  # which is no name of a folder
        file = self._folder / path
        described = {name: value for name, value in line.items() if name != "url"} | {"path": path.as_posix()}
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f"{file.name}.part")
        async with self._http.stream("GET", line["url"]) as answer:
            if not answer.is_success:
                raise CommandError(f"{line['name']} was not served ({answer.status_code}). Repeat the command.")
            if not _is_stored(file, line):
                with draft.open("wb") as opened:
                    async for block in answer.aiter_bytes(BLOCK_BYTES):
                        opened.write(block)
                os.utime(draft, (_parse_time(line), _parse_time(line)))
                draft.replace(file)
            headers = {"contentType": "content-type", "fileName": "x-amz-meta-name"}
            described |= {name: answer.headers[header] for name, header in headers.items() if header in answer.headers}
        return described

    def _save(self) -> None:
        self._state |= {"counts": dict(sorted(self._counts.items())), "leftOut": dict(sorted(self._left_out.items()))}
        draft = self._folder / f"{STATE}.part"
        draft.write_text(json.dumps(self._state, indent=2) + "\n")
        draft.replace(self._folder / STATE)


def _is_stored(file: Path, line: Json) -> bool:
    """Return whether a file has the size and the time of an object."""
    if not file.exists():
        return False
    status = file.stat()
    return bool(status.st_size == line["bytes"]) and round(status.st_mtime) == round(_parse_time(line))


def _parse_time(line: Json) -> float:
    """Return the Unix time at which an object was stored."""
    return datetime.fromisoformat(line["storedAt"]).timestamp()


def make_file_name(name: str) -> str:
    """Return the name of a file for a part of an object's name: percent-encoded, or its digest if that is too long."""
    encoded = quote(name, safe="").replace(".", "%2E") or "%"  # a name may contain two slashes in a row
    return encoded if len(encoded) <= MAX_NAME else f"~{sha256(name.encode()).hexdigest()}"
