"""Tables of results, and a description of the machine for reports."""

from __future__ import annotations

import os
import platform
from collections.abc import Collection, Iterable, Sequence

from baton_local.engines import dynamodb


def describe_machine() -> str:
    """Return the number of cores, the system, and the versions of Python and DynamoDB Local.

    These do not identify a machine.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    engine = dynamodb.ARTIFACT.rpartition(":")[2]
    return (
        f"{cores} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"DynamoDB Local {engine} (in memory)"
    )


def format_table(head: Sequence[str], rows: Iterable[Sequence[object]], texts: Collection[int] = (0,)) -> str:
    """Return a Markdown table, padded so that it is readable as text.

    The columns with the indexes ``texts`` are aligned to the left, the others to the right.
    """
    cells = [list(head), *([_format_cell(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(head))]
    lines = ["| " + " | ".join(_align_cells(line, widths, texts)) + " |" for line in cells]
    rule = "|" + "|".join(
        "-" * (width + 2) if column in texts else "-" * (width + 1) + ":" for column, width in enumerate(widths)
    )
    return "\n".join([lines[0], rule + "|", *lines[1:]])


def _align_cells(line: Sequence[str], widths: Sequence[int], texts: Collection[int]) -> list[str]:
    return [
        cell.ljust(width) if column in texts else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(line, widths, strict=True))
    ]


def _format_cell(cell: object) -> str:
    """Return a cell as text: numbers with separators of thousands, and fractions with one digit."""
    if isinstance(cell, float):
        return f"{cell:,.1f}".removesuffix(".0")
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
