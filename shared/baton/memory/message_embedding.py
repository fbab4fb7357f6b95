"""The embedding of a message, shared by all retrievals for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from aws_lambda_powertools import Logger

from baton.domain.documents.search import Vector
from baton.domain.errors import BatonError, WrongDimension
from baton.domain.memory.found_item import FoundItem
from baton.domain.metrics import Metric, count
from baton.ports.documents.search import Embedder, EmbeddingPurpose

logger = Logger(child=True)

EMBEDDING_SHARE = 0.6
"""The share of the deadline after which a slow embedding is given up, so that a search by words still has time."""
EMBEDDER_SHARE = 0.95
"""The part of that time which the embedder has. An endpoint that does not answer fails there first, so that its
circuit breaker counts it."""

Find = Callable[[Vector | None], Coroutine[Any, Any, tuple[FoundItem, ...]]]


class MessageEmbedding:
    """The vector of a message, made once, when the first retrieval needs it."""

    def __init__(
        self, embedder: Embedder, query: str, *, tenant_id: str, deadline: timedelta, vector: Vector | None = None
    ) -> None:
        """``tenant_id`` is the message's tenant; ``vector`` is the embedding if it is known already."""
        self._embedder = embedder
        self._query = query
        self._tenant_id = tenant_id
        self._seconds = EMBEDDING_SHARE * deadline.total_seconds()
        self._task: asyncio.Future[Vector | None] | None = None
        self.vector = vector
        """The embedding, once it is known."""
        self.words_only: str | None = None
        """The reason why the message was searched by its words only; None if it was not."""

    @property
    def tasks(self) -> list[asyncio.Future[Any]]:
        """The work in progress, to cancel."""
        return [self._task] if self._task is not None else []

    async def get(self) -> Vector | None:
        """Return the embedding; None if there is none in time."""
        if self.vector is not None or not self._embedder.dimensions:
            return self.vector
        if self._task is None:
            self._task = asyncio.ensure_future(self._embed())
        return await asyncio.shield(self._task)

    async def find(self, find: Find) -> tuple[FoundItem, ...]:
        """Search by words and meaning, or by words only if the index was made for another embedding model."""
        vector = await self.get()
        try:
            return await find(vector)
        except WrongDimension as error:
            if vector is None:
                raise
            count(Metric.RECALLS_INCOMPLETE)
            self.words_only = f"{error.code}: searched by words only"
            return await find(None)

    async def _embed(self) -> Vector | None:
        try:
            async with asyncio.timeout(self._seconds):
                [self.vector] = await self._embedder.embed(
                    [self._query],
                    purpose=EmbeddingPurpose.QUERY,
                    seconds=EMBEDDER_SHARE * self._seconds,
                    tenant_id=self._tenant_id,
                )
            return self.vector
        except TimeoutError:
            self.words_only = f"the embedding took more than {self._seconds * 1000:g} ms: searched by words only"
        except BatonError as error:
            self.words_only = f"{error.code}: searched by words only"
        except Exception:
            logger.exception("embedding failed")
            count(Metric.INTERNAL_FAULTS)
            self.words_only = "internal_error: searched by words only"
        count(Metric.RECALLS_INCOMPLETE)
        return None
