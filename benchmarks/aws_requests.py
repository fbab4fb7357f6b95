"""The CPU time of one small request to DynamoDB, by either transport: ``python -m benchmarks.aws_requests``.

boto3's client sends it with urllib3, as botocore does, or with ``http.client``, as ``adapters.aws_http`` does. The
client in front of the transport is the same. Requests of both alternate, in one thread, whose time alone counts.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Callable
from typing import Any

from boto3.session import Session

from baton.adapters.aws import CONFIG, QUICK, client
from baton.adapters.dynamodb.attributes import read_items
from baton.adapters.dynamodb.table import Table
from baton_local.account import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY
from benchmarks.local_table import local_table
from benchmarks.report import machine, table

PAUSES = (0.0, 0.02)
"""Seconds between requests. After a pause the processor's caches hold something else, as they do in a turn."""


def measure(endpoint: str, name: str, rounds: int) -> str:
    """Return a table of the medians, in microseconds."""
    session = Session(ACCESS_KEY_ID, SECRET_ACCESS_KEY, region_name=REGION)
    usual = session.client("dynamodb", endpoint_url=endpoint, config=CONFIG.merge(QUICK))
    direct = client("dynamodb", endpoint, QUICK, session)
    rows = []
    for what, made in (("urllib3", usual), ("http.client", direct)):
        read_items(made)
        rows.append((what, _request(made, name)))
    table_of_loop = Table.sent_directly(client("dynamodb", endpoint, QUICK, session), name, session)
    loop = asyncio.new_event_loop()
    rows.append(("the event loop", lambda: loop.run_until_complete(_update(table_of_loop))))
    medians: dict[str, list[float]] = {what: [] for what, _ in rows}
    for pause in PAUSES:
        times: dict[str, list[int]] = {what: [] for what, _ in rows}
        for _ in range(rounds):
            for what, request in rows:
                time.sleep(pause)
                began = time.thread_time_ns()
                request()
                times[what].append(time.thread_time_ns() - began)
        for what, taken in times.items():
            medians[what].append(statistics.median(taken) / 1_000)
    head = ["CPU microseconds a request", *(f"pauses of {1_000 * pause:g} ms" for pause in PAUSES)]
    return table(head, [(what, *values) for what, values in medians.items()])


def _request(made: Any, name: str) -> Callable[[], Any]:
    key = {"PK": {"S": "benchmark"}, "SK": {"S": "THREAD"}}
    values = {":text": {"S": "x" * 400}}
    return lambda: made.update_item(
        TableName=name, Key=key, UpdateExpression="SET said = :text", ExpressionAttributeValues=values
    )


async def _update(table_of_loop: Table) -> None:
    key, values = {"PK": "benchmark", "SK": "THREAD"}, {":text": "x" * 400}
    await table_of_loop.change(key, "SET said = :text", values, condition="attribute_exists(PK)")


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.aws_requests", description=__doc__)
    parser.add_argument("--rounds", type=int, default=500, help="requests of each (default: %(default)s)")
    arguments = parser.parse_args()
    with local_table() as (endpoint, name):
        print(f"Measured on {machine()}, {arguments.rounds} requests each.\n")
        print(measure(endpoint, name, arguments.rounds))


if __name__ == "__main__":
    main()
