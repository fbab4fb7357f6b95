"""The sentence encoder all-MiniLM-L6-v2: real embeddings without an internet connection and without a framework.

The weights come from a package. They and the runtime are loaded when the first text is encoded.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from threading import Lock, get_native_id
from typing import TYPE_CHECKING

from cachetools import LRUCache

from baton_local.demo_model import weights

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from baton_local.demo_model.sentence_network import Array, SentenceNetwork

logger = logging.getLogger("baton_local")

NAME = "all-MiniLM-L6-v2"
DIMENSIONS = 384
SCHEME = "encoder:///"
"""The beginning of the URLs by which functions in the local cloud's process refer to the encoder."""
MAX_TOKENS = 256
"""The tokens at which longer texts are cut, as the model's card says
(https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2)."""
BATCH_TOKENS = 256
"""The tokens of a batch, with the padding of shorter texts. Encoding a batch takes a tenth of a second."""
PARALLEL_BATCHES = os.cpu_count() or 1
FEW_TOKENS = 512
"""A request of at most this many tokens, such as a question, does not wait for the batches of large requests."""
FEW_CHARACTERS = 4_000
"""Texts of at most this many characters are tokenized without a thread, which would cost more than the work."""
NICENESS = 10
"""The ``nice`` value of the threads of large requests, so that users wait less for small ones (Linux only)."""
KEPT = 8_192
"""The number of last used vectors that are kept. Long texts are often equal up to the length at which they are cut, and
a client that has given up sends the same texts again."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """The vectors of texts, a row for each text, and the number of the texts' tokens."""

    vectors: Array
    tokens: int


class SentenceEncoder:
    """An encoder of texts as vectors of length 1.

    Texts are encoded in threads, a batch on each core. Large requests take turns, batch by batch, in threads of low
    priority. Small ones have separate threads, so that a question does not wait for an import. Texts of the same tokens
    are encoded once. Several event loops may use the same encoder.
    """

    def __init__(self, folder: Callable[[], Path] = weights.find_installed) -> None:
        """``folder`` returns the folder of the model's files."""
        self._folder = folder
        self._loading = Lock()
        self._large = ThreadPoolExecutor(PARALLEL_BATCHES, "embeddings", _lower_priority)
        self._small = ThreadPoolExecutor(PARALLEL_BATCHES, "questions")
        self._keeping = Lock()
        self._cache: LRUCache[bytes, Array] = LRUCache(KEPT)

    async def encode(self, texts: Sequence[str]) -> Encoded:
        """Return the vectors of the texts, in their order. Raises ``EngineFailed`` if the model cannot be loaded."""
        import numpy as np

        is_short = "_tokenizer" in vars(self) and sum(map(len, texts)) <= FEW_CHARACTERS
        rows = self._tokenize(texts) if is_short else await asyncio.to_thread(self._tokenize, texts)
        keys = [array("I", row).tobytes() for row in rows]
        with self._keeping:
            vectors_by_row = {key: self._cache[key] for key in keys if key in self._cache}
        missing = {key: row for key, row in zip(keys, rows, strict=True) if key not in vectors_by_row}
        if missing:
            encoded = dict(zip(missing, await self._encode_all(list(missing.values())), strict=True))
            with self._keeping:
                self._cache.update(encoded)
            vectors_by_row |= encoded
        vectors = np.array([vectors_by_row[key] for key in keys], dtype=np.float32).reshape(len(rows), DIMENSIONS)
        return Encoded(vectors, sum(map(len, rows)))

    async def _encode_all(self, rows: Sequence[Sequence[int]]) -> list[Array]:
        """Return a vector for each row of token ids, computed in threads."""
        vectors: dict[int, Array] = {}
        threads = self._small if sum(map(len, rows)) <= FEW_TOKENS else self._large
        loop = asyncio.get_running_loop()

        async def fill(batch: Sequence[int]) -> None:
            encoded = await loop.run_in_executor(threads, self._encode, [rows[index] for index in batch])
            # A kept vector that is not a copy would keep its whole batch in memory.
            vectors.update((index, vector.copy()) for index, vector in zip(batch, encoded, strict=True))

        # A later request would wait for all batches if they were submitted at once.
        async with asyncio.TaskGroup() as group:
            slots = asyncio.Semaphore(PARALLEL_BATCHES)
            for batch in _make_batches(rows):
                await slots.acquire()
                group.create_task(fill(batch)).add_done_callback(lambda _: slots.release())
        return [vectors[index] for index in range(len(rows))]

    def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        with self._loading:
            tokenizer = self._tokenizer
        return [encoded.ids for encoded in tokenizer.encode_batch(list(texts))]

    def _encode(self, rows: Sequence[Sequence[int]]) -> Array:
        with self._loading:
            network = self._network
        return network.encode(rows)

    @cached_property
    def _network(self) -> SentenceNetwork:
        from baton_local.demo_model.sentence_network import SentenceNetwork, map_weights

        config = json.loads((self._folder() / "config.json").read_text())
        mapped = map_weights(self._folder() / "model.safetensors")
        return SentenceNetwork(mapped, layers=config["num_hidden_layers"])

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._folder() / "tokenizer.json"))
        # The file pads and truncates at 128 tokens.
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        return tokenizer


def make_encoder_url(cache_dir: Path) -> str:
    """Return the value of ``BATON_EMBEDDING_BASE_URL`` for the encoder whose files are in ``cache_dir``."""
    return f"{SCHEME}{cache_dir.absolute()}"


@cache
def get_shared_encoder(cache_dir: Path) -> SentenceEncoder:
    """Return the process's encoder with the files in ``cache_dir``, so that the model is in memory once."""
    return SentenceEncoder(lambda: weights.provide_folder(cache_dir, logger.info))


def _lower_priority() -> None:
    """Lower the priority of the calling thread. Only Linux has a priority for each thread."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, get_native_id(), NICENESS)


def _make_batches(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the indices of rows in batches of up to ``BATCH_TOKENS`` tokens. Rows of similar length share a batch."""
    batches: list[list[int]] = []
    longest = 0
    for index in sorted(range(len(rows)), key=lambda index: -len(rows[index])):
        if not batches or longest * (len(batches[-1]) + 1) > BATCH_TOKENS:
            batches.append([])
            longest = len(rows[index])
        batches[-1].append(index)
    return batches
