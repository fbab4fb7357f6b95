"""Compare readers of documents: ``python -m comparison`` in the folder ``extraction``, with other readers installed.

A file is read right if its text has all phrases of its case in their order and no hidden phrase. White space and marks
of Markdown are ignored. Times are those of a second reading of all files, without loading libraries.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

from comparison.cases import CASES, RIGHT, Case
from comparison.readers import READERS, Reader


def main(names: Sequence[str]) -> None:
    """Print a table of the files and the installed readers, or those with ``names``."""
    warnings.simplefilter("ignore")
    logging.disable()
    readers: dict[str, Reader] = {}
    for name in names or READERS:
        try:
            readers[name] = READERS[name]()
        except ImportError as problem:
            print(f"{name} is left out: {problem}. Install it in this environment to compare it.", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        files = [_store(case, Path(folder)) for case in CASES]
        outcomes = {
            name: [_find_outcome(read, *pair) for pair in zip(CASES, files, strict=True)]
            for name, read in readers.items()
        }
        times = {name: _measure(read, files) for name, read in readers.items()}
    print(_format_row("file", *readers), _format_row(*["---"] * (len(readers) + 1)), sep="\n")
    for number, case in enumerate(CASES):
        print(_format_row(case.subject, *(outcomes[name][number] for name in readers)))
    right = (f"{outcomes[name].count(RIGHT)} of {len(CASES)}" for name in readers)
    print(_format_row("right", *right), _format_row("seconds", *(f"{times[name]:.1f}" for name in readers)), sep="\n")


def _store(case: Case, folder: Path) -> Path:
    file = folder / Path(case.name).name
    file.write_bytes(case.body)
    return file


def _find_outcome(read: Reader, case: Case, file: Path) -> str:
    """Return the outcome of a file; "refused" if the reader raises an error."""
    try:
        return case.find_outcome(read(file))
    except Exception:  # noqa: BLE001 - libraries raise anything
        return "refused"


def _measure(read: Reader, files: Sequence[Path]) -> float:
    """Return the seconds that reading all files takes."""
    start = time.perf_counter()
    for file in files:
        try:
            read(file)
        except Exception:  # noqa: BLE001, S112 - it was counted
            continue
    return time.perf_counter() - start


def _format_row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


main(sys.argv[1:])
