"""The rank of exact codes in searches: ``OPENBLAS_NUM_THREADS=1 python -m benchmarks.exact_codes``.

A manual has a page for each of 200 bolts, with its torque in one of 21 lines that all pages have. It is asked for the
torque of every bolt, alone, and with its lines in another order among twenty other documents.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import random
import re
import tempfile

from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from baton.adapters.extraction import pdf
from benchmarks.knowledge import Library, files, search_index
from benchmarks.report import machine, table

BOLTS = 200
STEPS = 20
OTHERS = 20
FIRST = 5


def manual(order: int | None) -> bytes:
    """Return the manual as a PDF file, with the lines of each page shuffled by a seed, if there is one."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=A4, invariant=1)
    canvas.setTitle("Machine manual")
    chance = random.Random(order)  # noqa: S311 - a benchmark, no secret
    for number in range(1, BOLTS + 1):
        canvas.setFont("Helvetica", 11)
        lines = [f"Station {number}: the torque of bolt B{number} is {number * 3 + 7} newton metres."]
        for step in range(STEPS):
            seal = number * 100 + step
            lines.append(
                f"Step {step + 1} of station {number}: check seal number {seal} and note the reading in the log."
            )
        if order is not None:
            chance.shuffle(lines)
        for place, line in enumerate(lines):
            canvas.drawString(72, 760 - 16 * place, line)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


async def ranks(library: Library) -> list[int]:
    """Return the place of each bolt's chunk among what is found for it; 1,000 if it is not."""
    places = []
    for number in range(1, BOLTS + 1):
        found = await library.found(f"What is the torque of bolt B{number}?")
        has_bolt = [re.search(rf"bolt B{number} is", each.text) is not None for each in found]
        places.append(has_bolt.index(True) + 1 if True in has_bolt else 1_000)
    return places


async def _run(options: argparse.Namespace) -> None:
    rows = []
    for name, order in (("alone", None), ("shuffled, among others", 5)):
        with tempfile.TemporaryDirectory(prefix="baton-codes-") as folder:
            library = Library(await search_index(options.engine, folder))
            await library.add_text("manual.pdf", [pdf.extract(manual(order), 1, BOLTS)])
            for other in files()[: OTHERS if order is not None else 0]:
                await library.add(other)
            found = await ranks(library)
            rows.append((name, sum(each == 1 for each in found), sum(each <= FIRST for each in found), max(found)))
    print(f"{options.engine or 'embedded index'}; {machine()}\n")
    print(table(["manual", "first", f"among {FIRST}", "last place"], rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", help="URL of an OpenSearch; without it the embedded index in a temporary folder")
    asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    main()
