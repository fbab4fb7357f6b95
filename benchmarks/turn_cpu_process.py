"""Plain turns of one source tree on request, each with its CPU time; ``benchmarks.turn_cpu`` starts it.

Each line of standard input requests one measurement, of a turn (``turn``) or of the scripted model alone (``model``).
The process prints its CPU time in milliseconds. The modules belong to the measured tree, which may be older than this
file: names that an older tree may lack are imported only if they are needed.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from typing import Any

from benchmarks.capacity import CapacityMeter
from benchmarks.turn_cost import THREAD_ID
from benchmarks.workload import STREAM_SECONDS, PacedModel

try:
    from benchmarks.instruments.metered_baton import SCOPE, Baton, started
    from benchmarks.instruments.metered_conversation import Conversation
except ImportError:  # an older tree
    from benchmarks.turn_cost import SCOPE, Baton, Conversation, started  # type: ignore[attr-defined,no-redef]

TURNS_BEFORE = 75
"""The turns before the measurements, so that the history fills the prompt's budget."""
REMEMBERED = 200
"""The number of messages in the user's earlier conversations."""


async def serve(memory: str) -> None:
    """Carry out the requests of standard input until it ends. ``memory`` is empty for the tree's own configuration."""
    # Counting requests and their capacity takes CPU time.
    CapacityMeter.attach = lambda self, client: None  # type: ignore[method-assign]
    with ExitStack() as opened:
        options: dict[str, Any] = {"configure": await _choose_configuration(memory, opened)} if memory else {}
        async with started(**options) as baton:
            conversation = Conversation(baton, THREAD_ID, connected=True)
            await conversation.go_on(TURNS_BEFORE)
            await _measure_turn(baton, conversation)  # the first turn with pauses takes longer
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            while command := (await asyncio.to_thread(sys.stdin.readline)).strip():
                taken = await (
                    _measure_turn(baton, conversation) if command == "turn" else _measure_milliseconds(_read_model)
                )
                sys.stdout.write(f"{taken}\n")
                sys.stdout.flush()


async def _measure_turn(baton: Baton, conversation: Conversation) -> float:
    """Return the CPU milliseconds of one turn. A further turn writes a summary that is due."""

    async def run() -> None:
        # All trees have this method, which runs a turn without measuring it.
        await conversation._run(STREAM_SECONDS, 0.0)

    taken = await _measure_milliseconds(run)
    await conversation.go_on(1)  # includes a summary that is due
    return taken


async def _read_model() -> None:
    class Settings:
        model = "scripted"

    settings: Any = Settings()
    files: Any = None  # the scripted model uses none
    async for _ in PacedModel(STREAM_SECONDS).stream(settings, (), thread_files=files):
        pass  # the stream is only read


async def _measure_milliseconds(work: Callable[[], Awaitable[None]]) -> float:
    """Return the CPU milliseconds of ``work``, in all threads of this process."""
    gc.collect()  # a full collection must not occur during a measurement
    before = time.process_time()
    await work()
    return 1_000 * (time.process_time() - before)


async def _choose_configuration(memory: str, opened: ExitStack) -> Callable[[Any], None]:
    """Return the function that changes the ports so that memory is off, or recalls from an embedded index."""
    if memory == "off":
        from baton.domain.memory.inspection import InspectionPolicy, InspectorMode

        def without_memory(ports: Any) -> None:
            ports.inspection_policy = InspectionPolicy(InspectorMode.OFF)

        return without_memory

    import numpy as np

    from baton.domain.documents.search import IndexName
    from baton_local.demo_model.sentence_encoder import DIMENSIONS, NAME
    from benchmarks.instruments.search_index import embedded_index

    try:
        from benchmarks.recall import make_random_documents
    except ImportError:  # an older tree
        from benchmarks.recall import made_up as make_random_documents  # type: ignore[attr-defined,no-redef]

    chance = np.random.default_rng(1)
    index = opened.enter_context(embedded_index(DIMENSIONS))
    await index.put(SCOPE, IndexName.EPISODES, list(make_random_documents(chance, REMEMBERED, "turn")))
    vector = make_random_vector(chance, DIMENSIONS)

    class OneVector:
        """An ``Embedder`` without a model, which would run in another process."""

        name, dimensions = NAME, DIMENSIONS

        async def embed(self, texts: Sequence[str], **_: object) -> list[list[float]]:
            return [vector for _ in texts]

    def with_memory(ports: Any) -> None:
        ports.search, ports.embedder = index, OneVector()

    return with_memory


def make_random_vector(chance: Any, dimensions: int) -> list[float]:
    """Return a random vector of length 1."""
    values = chance.standard_normal(dimensions)
    vector: list[float] = (values / (values @ values) ** 0.5).tolist()
    return vector


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
