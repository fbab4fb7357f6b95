"""Measure the speed of matching procedures with messages: ``python -m benchmarks.procedures``.

The procedures are generated: phrases, patterns of several kinds, and random vectors. The benchmark measures a worker
that has loaded them: matching by triggers, and by meaning without the embedder. Times are CPU times, so that other work
on the machine does not count. The time of the index, which is built once per worker and change, is shown separately.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from baton.domain.memory.procedure import Procedure, ProcedureDraft, ProcedureStatus, ProcedureStep
from baton.domain.memory.procedure_set import ProcedureSet
from baton.memory.recall.procedure_matching import ProcedureVectors
from benchmarks.instruments.report import describe_machine, format_table
from benchmarks.instruments.search_index import MadeUpEmbedder

MESSAGES = 100
WORDS = 1_500
"""The number of different words."""
MODELS = (384, 1_536)
"""The dimensions of the local cloud's encoder, and of the default of deployments."""
LENGTHS = (20, 2_500)
"""The words of a usual message, and of one with pasted text."""


@dataclass(frozen=True, slots=True)
class Latency:
    """The percentiles and the maximum of times, in milliseconds."""

    p50: float
    p95: float
    most: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Latency:
        """Return the latency of at least two times in seconds."""
        cuts = statistics.quantiles(seconds, n=20)
        return cls(statistics.median(seconds) * 1000, cuts[18] * 1000, max(seconds) * 1000)


def make_procedures(count: int, words: Sequence[str], chance: random.Random) -> list[Procedure]:
    """Return approved procedures, each with two phrases and two patterns."""
    return [
        Procedure(
            ProcedureDraft(
                f"Procedure {number}",
                " ".join(chance.choices(words, k=12)),
                (
                    " ".join(chance.choices(words, k=3)),
                    " ".join(chance.choices(words, k=2)),
                    rf"({chance.choice(words)}|{chance.choice(words)}) (the|my|a) {chance.choice(words)}( report)?",
                    rf"{chance.choice(words)} \w+ (for|to) {chance.choice(words)}\b",
                ),
                (ProcedureStep("Do it."),),
            ),
            "acme",
            "assistant",
            "ada",
            datetime(2026, 1, 1, tzinfo=UTC),
            1,
            ProcedureStatus.APPROVED,
        )
        for number in range(count)
    ]


async def measure(count: int, dimensions: int, length: int) -> tuple[float, Latency, Latency, float]:
    """Match random messages of ``length`` words with ``count`` procedures.

    Return the seconds of building the index, the times of matching by triggers and by meaning, and the share of
    messages that a trigger matches.
    """
    chance = random.Random(1)  # noqa: S311 - the same in every run
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(4, 9))) for _ in range(WORDS)]
    versions = make_procedures(count, words, chance)
    began = time.process_time()
    procedure_set = ProcedureSet(versions)
    first = time.process_time() - began
    embedder = MadeUpEmbedder(dimensions)
    vectors = ProcedureVectors(embedder)
    await vectors.find_nearest(procedure_set, embedder.make_vector("warm"))
    by_trigger, by_meaning, hits = [], [], 0
    for number in range(MESSAGES):
        text = " ".join(chance.choices(words, k=length))
        if number % 3 == 0:
            text = f"{versions[number % count].draft.triggers[0]} {text}"
        vector = embedder.make_vector(text)
        began = time.process_time()
        hits += bool(procedure_set.find_triggered(text))
        by_trigger.append(time.process_time() - began)
        began = time.process_time()
        await vectors.find_nearest(procedure_set, vector)
        by_meaning.append(time.process_time() - began)
    return first, Latency.of(by_trigger), Latency.of(by_meaning), hits / MESSAGES


async def _run(options: argparse.Namespace) -> None:
    """Measure and print the table."""
    print(f"{describe_machine()}\n")
    rows: list[tuple[str, ...]] = []
    for count in options.procedures:
        for dimensions in MODELS:
            for length in LENGTHS:
                first, trigger, meaning, share = await measure(count, dimensions, length)
                figures = (trigger.p50, trigger.p95, meaning.p50, meaning.p95, trigger.p95 + meaning.p95, first * 1000)
                name = f"{count:,}, {dimensions} dimensions, {length} words"
                rows.append((name, f"{share:.0%}", *(f"{figure:.2f}" for figure in figures)))
    head = ["procedures", "triggered", "triggers p50, ms", "p95", "meaning p50, ms", "p95", "both p95", "index, ms"]
    print(format_table(head, rows))


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--procedures",
        type=lambda text: [int(number) for number in text.split(",")],
        default=[100, 1_000],
        help="numbers of procedures, separated by commas (default: 100,1000)",
    )
    asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    main()
