"""The sentence encoder all-MiniLM-L6-v2: real embeddings without a network and without a framework.

The weights come from a package and are read when the first text is encoded.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from baton_local.demo_model.weights import installed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from baton_local.demo_model.sentence_network import Array, SentenceNetwork

NAME = "all-MiniLM-L6-v2"
DIMENSIONS = 384
MAX_TOKENS = 256
"""The longest text that the model was trained with. Longer ones are cut."""
BATCH_TOKENS = 1_024
"""Tokens that are encoded together: about a fifth of a second of one core."""
PARALLEL_BATCHES = os.cpu_count() or 1
LARGE_BATCHES = max(1, PARALLEL_BATCHES - 1)
"""Batches of large requests at once. One core stays free for what users wait for."""
FEW_TOKENS = 512
"""A request of at most so many, such as a question, does not wait for the batches of others."""
KEPT = 8_192
"""Vectors that are kept, those that were used last: long texts are often equal up to where they are cut, and a client
that has given up asks for the same ones again."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """The vectors of texts, one a row, and what they cost."""

    vectors: Array
    tokens: int


class SentenceEncoder:
    """Turns texts into vectors of length 1.

    Texts are encoded in threads, a batch on each core. Large requests take turns, batch by batch, on all cores but one.
    Small ones have separate turns, so that a question does not wait for an import. Texts of the same tokens are
    encoded once.
    """

    def __init__(self, weights: Callable[[], Path] = installed) -> None:
        """``weights`` returns the folder of the model's files."""
        self._weights = weights
        self._loading = Lock()
        self._turns_of_large = asyncio.Semaphore(LARGE_BATCHES)
        self._turns_of_small = asyncio.Semaphore(PARALLEL_BATCHES)
        self._kept: OrderedDict[tuple[int, ...], Array] = OrderedDict()

    async def encode(self, texts: Sequence[str]) -> Encoded:
        """Return the vectors of the texts, in their order."""
        import numpy as np

        rows = [tuple(row) for row in await asyncio.to_thread(self._tokens, texts)]
        known = {row: self._kept[row] for row in rows if row in self._kept}
        missing = [row for row in dict.fromkeys(rows) if row not in known]
        known |= dict(zip(missing, await self._encode_all(missing), strict=True))
        self._keep(known)
        vectors = np.array([known[row] for row in rows], dtype=np.float32).reshape(len(rows), DIMENSIONS)
        return Encoded(vectors, sum(map(len, rows)))

    async def _encode_all(self, rows: Sequence[tuple[int, ...]]) -> Array:
        import numpy as np

        vectors = np.zeros((len(rows), DIMENSIONS), dtype=np.float32)
        turns = self._turns_of_small if sum(map(len, rows)) <= FEW_TOKENS else self._turns_of_large

        async def fill(batch: Sequence[int]) -> None:
            async with turns:
                vectors[batch] = await asyncio.to_thread(self._encode, [rows[place] for place in batch])

        # Only so many wait for their turn at a time, or a later request would wait for all of them.
        async with asyncio.TaskGroup() as group:
            slots = asyncio.Semaphore(PARALLEL_BATCHES)
            for batch in _batches(rows):
                await slots.acquire()
                group.create_task(fill(batch)).add_done_callback(lambda _: slots.release())
        return vectors

    def _keep(self, vectors: Mapping[tuple[int, ...], Array]) -> None:
        for row, vector in vectors.items():
            self._kept[row] = vector
            self._kept.move_to_end(row)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        with self._loading:
            tokenizer = self._tokenizer
        return [encoded.ids for encoded in tokenizer.encode_batch(list(texts))]

    def _encode(self, rows: Sequence[Sequence[int]]) -> Array:
        with self._loading:
            network = self._network
        return network.encode(rows)

    @cached_property
    def _network(self) -> SentenceNetwork:
        from safetensors.numpy import load_file

        from baton_local.demo_model.sentence_network import SentenceNetwork

        config = json.loads((self._weights() / "config.json").read_text())
        return SentenceNetwork(
            load_file(self._weights() / "model.safetensors"),
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            epsilon=config["layer_norm_eps"],
        )

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._weights() / "tokenizer.json"))
        # The file pads and truncates at 128 tokens.
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        return tokenizer


def _batches(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the places of rows, as batches of up to ``BATCH_TOKENS`` tokens."""
    batches: list[list[int]] = []
    tokens = BATCH_TOKENS
    for place, row in enumerate(rows):
        if tokens + len(row) > BATCH_TOKENS:
            batches.append([])
            tokens = 0
        batches[-1].append(place)
        tokens += len(row)
    return batches
