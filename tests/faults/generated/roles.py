"""The roles of the functions whose code runs in generated cases: what they do not allow is refused there too."""

from __future__ import annotations

import os
from pathlib import Path

from baton_local.roles.guard import Guard, make_guard
from baton_local.roles.requests import Request
from baton_local.root import ROOT
from baton_local.stack.declarations import Stack

BUCKET = "case-bodies"
"""Of the cases that run on real engines."""
QUEUE = "turns.fifo"


class GuardOfCases(Guard):
    """A guard that lets the test itself look on, which is not a function."""

    def ask(self, function: str, service: str, request: Request, operation: str) -> None:
        if function:
            super().ask(function, service, request, operation)


def guard_of_cases(stack: Stack, table: str) -> Guard:
    """A guard for whom the cases' table, bucket and queue are the template's."""
    recordings = os.environ.get("BATON_LOCAL_RECORDINGS")
    queue = next(queue.name for queue in stack.queues if queue.dead_letters_to and "TurnsQueue" in queue.name)
    aliases = {table: stack.table["TableName"], BUCKET: stack.bucket, QUEUE: queue}
    plain = make_guard(stack, Path(recordings) if recordings else None, ROOT / "template.yaml", aliases)
    return GuardOfCases(plain.policies, plain.roles, plain.names, plain.recorder)
