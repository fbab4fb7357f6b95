"""Uploads to an address that the server has signed, with a progress bar."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from baton_client.command.connection import Json
from baton_client.command.exits import CommandError, ExitCode
from baton_client.command.session import Session
from baton_client.command.terminal_text import one_line
from baton_client.uploads import guess_content_type

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

BLOCK_BYTES = 256 * 1024


def find_content_type(file: Path) -> str:
    """Return a file's type by its name. Raises ``CommandError`` if the name does not show it."""
    media_type = guess_content_type(file.name)
    if media_type is None:
        raise CommandError(f"{file}: the name does not tell the type. Give it an ending such as .pdf.", ExitCode.USAGE)
    return media_type


def describe_file(file: Path) -> Json:
    """Return the fields that announce a file. Raises ``CommandError`` if it cannot be sent."""
    if not file.is_file():
        raise CommandError(f"{file} is not a file.", ExitCode.USAGE)
    size = file.stat().st_size
    if not size:
        raise CommandError(f"{file} is empty.", ExitCode.USAGE)
    return {"name": file.name, "contentType": find_content_type(file), "size": size}


def compute_checksum(file: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


async def put(session: Session, file: Path, upload: Json) -> None:
    """Upload a file to the address in ``upload``. Raises ``CommandError`` if it is not accepted."""
    size = describe_file(file)["size"]
    with session.output.show_progress() as progress:
        task = progress.add_task(one_line(file.name, 40), total=size)
        # The signature covers the length, so the body must not be sent in chunks.
        headers = {**upload["headers"], "Content-Length": str(size)}
        answer = await session.http.request(
            upload["method"], upload["url"], headers=headers, content=_read_blocks(file, progress, task)
        )
    if not answer.is_success:
        raise CommandError(f"{file} was not accepted ({answer.status_code}). Upload it again; it may have changed.")


async def _read_blocks(file: Path, progress: Progress, task: TaskID) -> AsyncIterator[bytes]:
    with file.open("rb") as opened:
        while block := opened.read(BLOCK_BYTES):
            yield block
            progress.advance(task, len(block))
