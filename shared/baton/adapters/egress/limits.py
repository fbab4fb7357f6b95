"""Limits on the response body that is read."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Iterable

from baton.domain.egress_policy import EgressRefused, ResponseTooLarge

MAX_RESPONSE_BYTES = 10 * 1024 * 1024


async def capped(
    parts: AsyncIterable[bytes], limit: int, too_large: type[ResponseTooLarge] = ResponseTooLarge
) -> AsyncGenerator[bytes, None]:
    """Yield ``parts`` as they come. Raises ``too_large`` once they have more than ``limit`` bytes in total."""
    read = 0
    async for part in parts:
        read += len(part)
        if read > limit:
            raise too_large(limit)
        yield part


def check_encoding(headers: Iterable[tuple[bytes, bytes]], host: str, refused: type[EgressRefused]) -> None:
    """Raise ``refused`` for a compressed response: requests ask for ``identity``, and decompression could fill memory.

    ``host`` is named in the error.
    """
    for name, value in headers:
        encoding = value.decode("latin-1").strip().lower()
        if name.lower() == b"content-encoding" and encoding not in ("", "identity"):
            raise refused(f"{host} answers compressed ({encoding[:20]}) although it was asked not to.")
