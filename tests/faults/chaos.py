"""Generated fault cases for as long as you like: ``python -m tests.faults.chaos --minutes 5``.

Each case is a conversation in virtual time: on doubles, or on the product's own adapters with DynamoDB Local, moto's S3
and faults at the level of HTTP (``tests/faults/generated``). Prints the counts of cases and of what happened in them.
Violations must be 0. Before that, real processes are killed in the middle of answers, and the time is taken until their
clients hear the next event (``processes.recovery``); ``--rounds`` says how often, ``--minutes 0`` does only this.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import logging
import os
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from baton_local import resources
from baton_local.engines.clients import client
from baton_local.engines.dynamodb import DynamoDBLocal
from baton_local.engines.moto import MotoServer
from baton_local.root import ROOT
from baton_local.settings import default_cache_dir
from baton_local.stack.declarations import read_stack
from baton_local.stack.template import Endpoints
from benchmarks.instruments.report import describe_machine, format_table
from tests.engines import TableAt
from tests.faults.counts import summarise
from tests.faults.generated.case import Outcome, run_case
from tests.faults.generated.engines import RealEngines
from tests.faults.generated.in_memory import InMemory
from tests.faults.generated.plan import KINDS, Plan
from tests.faults.processes import recovery

SORTS = ("memory", "real")
"""Doubles, or the product's adapters on DynamoDB Local and moto."""
NOWHERE = Endpoints(gateway="", sockets="", connections="", queues="http://queues.invalid")


@contextmanager
def engines_of(dynamodb: str, s3: str) -> Iterator[RealEngines]:
    """Engines with a fresh table of the template's definition."""
    admin = client("dynamodb", dynamodb)
    stack = read_stack(ROOT / "template.yaml", {"Stage": "local"}, NOWHERE)
    name = resources.create_table(admin, stack.table, f"chaos-{uuid.uuid4()}")
    engines = RealEngines(TableAt(dynamodb, name), s3, stack)
    try:
        yield engines
    finally:
        engines.close()
        admin.delete_table(TableName=name)
        admin.close()


def outcomes(seconds: float, first_seed: int, kinds: tuple[str, ...], where: str) -> Iterator[tuple[str, Outcome]]:
    """Run cases until ``seconds`` have passed, and print the sort of engines: half of the time on each.

    Kinds take turns.
    """
    began = time.monotonic()
    seeds = itertools.count(first_seed)
    spent = {sort: 0.0 for sort in SORTS if where in (sort, "both")}
    with ExitStack() as stack:
        if "memory" in spent:
            in_memory = InMemory()
        if "real" in spent:
            table_engine, objects = DynamoDBLocal(default_cache_dir()), MotoServer()
            stack.callback(table_engine.stop)
            stack.callback(objects.stop)
            real = stack.enter_context(engines_of(table_engine.start(), objects.start()))
        while (now := time.monotonic()) - began < seconds:
            sort = min(spent, key=lambda sort: spent[sort])
            seed = next(seeds)
            plan = Plan.of(seed, kinds[seed % len(kinds)])
            yield sort, run_case(in_memory if sort == "memory" else real, plan)
            spent[sort] += time.monotonic() - now


def report(cases: Counter[tuple[str, str]], turns: Counter[str], violations: Counter[str], faults: Counter[str]) -> str:
    """Cases by kind and engines, and how often each fault happened."""
    rows = [
        (kind, *(cases[sort, kind] for sort in SORTS), turns[kind], violations[kind]) for kind in KINDS if turns[kind]
    ]
    together = [sum(count for (at, _), count in cases.items() if at == sort) for sort in SORTS]
    rows.append(("together", *together, turns.total(), violations.total()))
    head = ["kind of case", *(f"{sort} cases" for sort in SORTS), "messages", "violations"]
    happened = summarise(faults).most_common()
    return "\n\n".join((format_table(head, rows), format_table(["what happened", "times"], happened)))


def main() -> int:
    """Run cases and print what came of them; 1 if anything was violated."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="the duration (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=100_000, help="the first case (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=2, help="of kill -9 on real processes (default: %(default)s)")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this kind; may be repeated")
    parser.add_argument("--engines", choices=[*SORTS, "both"], default="both", help="default: %(default)s")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)  # what the product says about faults is not the result
    if arguments.rounds:
        results = asyncio.run(recovery.measure(arguments.rounds))
        print(
            f"Measured on {describe_machine()}; load average {os.getloadavg()[0]:.1f}.\n\n{recovery.report(results)}\n"
        )
    if not arguments.minutes:
        return 0
    kinds = tuple(arguments.kind or KINDS)
    cases: Counter[tuple[str, str]] = Counter()
    turns: Counter[str] = Counter()
    violations: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for sort, outcome in outcomes(arguments.minutes * 60, arguments.seed, kinds, arguments.engines):
        kind = outcome.plan.kind
        cases[sort, kind] += 1
        turns[kind] += outcome.turns
        faults.update(outcome.counts)
        if outcome.violations:
            violations[kind] += 1
            print(
                f"seed {outcome.plan.seed}, {kind}, {sort}: " + "\n  ".join(outcome.violations),
                file=sys.stderr,
                flush=True,
            )
    print(f"Measured on {describe_machine()}; {arguments.minutes:g} minutes, load average {os.getloadavg()[0]:.1f}.\n")
    print(report(cases, turns, violations, faults))
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
