"""The cost of a process for each document: ``python -m benchmarks.extraction``.

The steps ``check`` and ``extract`` (of the first part) of one document of each format, first in the benchmark's own
process with the libraries loaded, then in separate processes. CPU time, because other work shares the cores; the
median of some rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import statistics
from collections.abc import Awaitable, Callable

from baton.adapters.document_reader import ChildProcessExtractor
from baton.adapters.extraction.extractor import Extractor
from benchmarks.document_set import Made, document_set
from benchmarks.report import machine, table

Step = Callable[[], Awaitable[object]]


async def _cpu_ms(step: Step, rounds: int) -> float:
    """Return the median CPU time of a step, with that of its process."""
    taken = []
    for _ in range(rounds):
        before = _cpu_seconds()
        await step()
        taken.append(1000 * (_cpu_seconds() - before))
    return statistics.median(taken)


def _cpu_seconds() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


async def _row(made: Made, rounds: int) -> list[object]:
    inside, outside = Extractor(), ChildProcessExtractor()
    found = inside.inspect(made.body, made.name, made.content_type)
    part = found.parts[0]
    inside.extract(made.body, found.form, part)  # loads the libraries

    async def check_inside() -> object:
        return inside.inspect(made.body, made.name, made.content_type)

    async def extract_inside() -> object:
        return inside.extract(made.body, found.form, part)

    steps: list[Step] = [
        check_inside,
        lambda: outside.inspect(made.body, made.name, made.content_type),
        extract_inside,
        lambda: outside.extract(made.body, found.form, part),
    ]
    return [made.name, len(made.body) // 1024, *[round(await _cpu_ms(step, rounds)) for step in steps]]


async def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    rows = [await _row(made, rounds) for made in document_set()]
    head = ["document", "KiB", "check ms", "in a process ms", "extract ms", "in a process ms"]
    print(machine(), table(head, rows), sep="\n\n")


if __name__ == "__main__":
    asyncio.run(main())
