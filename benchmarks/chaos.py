"""Generated disasters for as long as you like: ``python -m benchmarks.chaos --minutes 5``.

Each case is a conversation on the product's own adapters (DynamoDB Local, moto's S3, botocore and HTTP at the wire) in
virtual time; see ``tests/e2e/faults``. Prints the counts of cases and faults of each kind. Violations must be 0.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.report import machine, table
from local import resources
from local.engines.clients import client
from local.engines.dynamodb import DynamoDBLocal
from local.engines.moto import MotoServer
from local.settings import ROOT, default_cache_dir
from local.stack import read_stack
from local.template import Endpoints
from tests.e2e.faults.case import Engines, Outcome, run_case
from tests.e2e.faults.plan import KINDS, Plan
from tests.engines import TableAt

CASES_A_TABLE = 500
"""A table that grows slows DynamoDB Local down; every so often another is taken."""
NOWHERE = Endpoints(gateway="", sockets="", connections="", queues="http://queues.invalid")


@contextmanager
def engines_of(dynamodb: str, s3: str) -> Iterator[Engines]:
    """Engines with a fresh table of the template's definition."""
    admin = client("dynamodb", dynamodb)
    definition = read_stack(ROOT / "template.yaml", {"Stage": "local"}, NOWHERE).table
    name = resources.create_table(admin, definition, f"chaos-{uuid.uuid4()}")
    engines = Engines(TableAt(dynamodb, name), s3)
    try:
        yield engines
    finally:
        engines.close()
        admin.delete_table(TableName=name)
        admin.close()


def outcomes(seconds: float, first_seed: int, kinds: tuple[str, ...]) -> Iterator[Outcome]:
    """Run cases, kinds in turn about, until ``seconds`` have passed."""
    until = time.monotonic() + seconds
    seed = first_seed
    table_engine, objects = DynamoDBLocal(default_cache_dir()), MotoServer()
    try:
        dynamodb, s3 = table_engine.start(), objects.start()
        while time.monotonic() < until:
            with engines_of(dynamodb, s3) as engines:
                for seed in range(seed, seed + CASES_A_TABLE):  # noqa: B020
                    if time.monotonic() >= until:
                        break
                    yield run_case(engines, Plan.of(seed, kinds[seed % len(kinds)]))
                seed += 1
    finally:
        objects.stop()
        table_engine.stop()


def report(cases: Counter[str], turns: Counter[str], violations: Counter[str], faults: Counter[str]) -> str:
    """Cases by kind, and how often each fault happened."""
    rows = [(kind, cases[kind], turns[kind], violations[kind]) for kind in KINDS if cases[kind]]
    rows.append(("together", cases.total(), turns.total(), violations.total()))
    happened = [(name, count) for name, count in sorted(faults.items())]
    return "\n\n".join(
        (table(["kind of case", "cases", "messages", "violations"], rows), table(["what happened", "times"], happened))
    )


def main() -> int:
    """Run cases and print what came of them; 1 if anything was violated."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=100_000, help="the first case (default: %(default)s)")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this kind; may be repeated")
    arguments = parser.parse_args()
    cases: Counter[str] = Counter()
    turns: Counter[str] = Counter()
    violations: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for outcome in outcomes(arguments.minutes * 60, arguments.seed, tuple(arguments.kind or KINDS)):
        kind = outcome.plan.kind
        cases[kind] += 1
        turns[kind] += outcome.turns
        faults.update(outcome.counts)
        if outcome.violations:
            violations[kind] += 1
            print(f"seed {outcome.plan.seed}, {kind}: " + "\n  ".join(outcome.violations), file=sys.stderr, flush=True)
    print(f"Measured on {machine()}; {arguments.minutes:g} minutes, load average {os.getloadavg()[0]:.1f}.\n")
    print(report(cases, turns, violations, faults))
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
