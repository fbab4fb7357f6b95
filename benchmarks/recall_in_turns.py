"""The time that recall adds to a turn's first token: ``python -m benchmarks.recall_in_turns``.

Turns with and without recall alternate, on Baton's adapters against DynamoDB Local and the embedded index. The model
answers at once. Each storage request may take longer (``--storage``), as may the embedding of a question
(``--embedding``).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from baton.composition.app import build
from baton.domain.events import Event
from baton.domain.search import IndexName, Vector
from baton.requests.parsing import message_request
from baton.turns.turns import Turns
from baton_local.demo_model.sentence_encoder import DIMENSIONS, NAME
from baton_local.sqlite_index import SqliteIndex
from benchmarks.capacity import CapacityMeter
from benchmarks.recall import made_up
from benchmarks.report import machine, table
from benchmarks.turn_cost import SCOPE, Baton, started
from benchmarks.workload import QUESTION

WARM_UP = 5


@dataclass
class PausingEmbedder:
    """An ``Embedder`` with one made-up vector, after ``seconds``. A real model works in another process."""

    vector: Vector
    seconds: float = 0.0
    name: str = NAME
    dimensions: int = DIMENSIONS

    async def embed(self, texts: Sequence[str], **_: object) -> Sequence[Vector]:
        if self.seconds:
            await asyncio.sleep(self.seconds)
        return [self.vector for _ in texts]


@dataclass
class Kind:
    """A kind of turns, and the measured times to their first tokens in milliseconds."""

    turns: Turns
    thread_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    first_tokens: list[float] = field(default_factory=list)

    async def run(self) -> None:
        """Run a turn and keep its time."""
        request = message_request(SCOPE, thread_id=self.thread_id, message_id=str(uuid.uuid4()), content=QUESTION)
        first: list[float] = []

        def take(event: Event) -> None:
            if event.type == "TEXT_MESSAGE_CONTENT" and not first:
                first.append(time.perf_counter())

        gc.collect()  # or a full collection falls into one turn or another
        began = time.perf_counter()
        await self.turns.run(SCOPE, request, take, seconds=60)
        self.first_tokens.append(1_000 * (first[0] - began))


@dataclass
class Delay:
    """The seconds by which each request to the table takes longer."""

    seconds: float = 0.0

    def attach(self, client: Any) -> None:
        """Make the requests of a client wait in their threads."""
        client.meta.events.register("before-send.dynamodb", self._wait)

    def _wait(self, **_: object) -> None:
        time.sleep(self.seconds)


async def measure(baton: Baton, index: SqliteIndex, embedder: PausingEmbedder, turns: int) -> tuple[Kind, Kind]:
    """Return turns without recall, and with it."""

    def turns_with(change: Callable[[Any], None]) -> Kind:
        ports = baton.make_ports()
        ports.model = baton.model
        change(ports)
        return Kind(build(ports).turns)

    def recalling(ports: Any) -> None:
        ports.search, ports.embedder = index, embedder

    kinds = turns_with(lambda ports: None), turns_with(recalling)
    baton.model.seconds = baton.model.silence = 0.0
    for number in range(WARM_UP + turns):
        for kind in kinds if number % 2 else kinds[::-1]:
            await kind.run()
        baton.queue.take()
    for kind in kinds:
        del kind.first_tokens[:WARM_UP]
    return kinds


def row(without: Kind, recalling: Kind) -> tuple[Any, ...]:
    """Return medians, and the median and the middle half of the differences."""
    pairs = zip(recalling.first_tokens, without.first_tokens, strict=True)
    added = sorted(more - less for more, less in pairs)
    quarter = len(added) // 4
    medians = statistics.median(without.first_tokens), statistics.median(recalling.first_tokens)
    spread = f"{added[quarter]:.1f} to {added[-1 - quarter]:.1f}"
    return (*medians, statistics.median(added), spread, f"{medians[1] / medians[0]:.2f}")


async def _run(options: argparse.Namespace) -> None:
    delay = Delay()
    # Counting requests takes CPU time.
    CapacityMeter.attach = lambda self, client: delay.attach(client)  # type: ignore[method-assign]
    chance = np.random.default_rng(1)
    vector = chance.standard_normal(DIMENSIONS)
    embedder = PausingEmbedder((vector / np.linalg.norm(vector)).tolist())
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        index = SqliteIndex(Path(folder), DIMENSIONS)
        await index.put(SCOPE, IndexName.EPISODES, list(made_up(chance, options.messages, "turn")))
        async with started() as baton:
            for storage in options.storage:
                for embedding in options.embedding:
                    delay.seconds, embedder.seconds = storage / 1_000, embedding / 1_000
                    measured = await measure(baton, index, embedder, options.turns)
                    rows.append((f"{storage:g}", f"{embedding:g}", *row(*measured)))
    print(f"Measured on {machine()}: {options.turns} turns each, {options.messages:,} messages remembered.\n")
    head = ["storage, ms", "embedding, ms", "without, ms", "with recall, ms", "added, ms", "middle half", "ratio"]
    print(table(head, rows))


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall_in_turns", description=__doc__)
    parser.add_argument("--turns", type=int, default=60, help="turns of each kind (default: %(default)s)")
    parser.add_argument("--messages", type=int, default=1_000, help="remembered messages (default: %(default)s)")
    parser.add_argument("--storage", type=_milliseconds, default=[0.0, 5.0], help="e.g. 0,5: of each request")
    parser.add_argument("--embedding", type=_milliseconds, default=[0.0, 10.0], help="e.g. 0,10: of the question")
    asyncio.run(_run(parser.parse_args()))


def _milliseconds(text: str) -> list[float]:
    return [float(each) for each in text.split(",")]


if __name__ == "__main__":
    main()
