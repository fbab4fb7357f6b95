"""The CPU time of a plain turn, compared with another source tree's: ``python -m benchmarks.turn_cpu --against TREE``.

Both trees run the turns of ``benchmarks.turn_cost`` in separate processes with their own libraries. They alternate,
because CPU times of two machines, or of two hours on a busy machine, cannot be compared. The other tree is a checkout
in which ``make setup`` was run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from baton_local.root import ROOT
from benchmarks.instruments.report import describe_machine, format_table

PROCESS = Path(__file__).with_name("turn_cpu_process.py")


@dataclass
class Tree:
    """A source tree, and the CPU times of its turns in milliseconds."""

    name: str
    process: subprocess.Popen[str]
    turns: list[float] = field(default_factory=list)
    model: list[float] = field(default_factory=list)
    """CPU times of reading the scripted model's stream alone, which wakes up once per token."""

    @property
    def own(self) -> list[float]:
        """The times of the turns without the scripted model's part, in milliseconds."""
        model = statistics.median(self.model)
        return [turn - model for turn in self.turns]

    def measure(self, part: str) -> float:
        """Return the CPU milliseconds of a turn (``part`` is ``turn``) or of a stream of the model (``model``).

        Raises ``RuntimeError`` if the process has ended.
        """
        assert self.process.stdin is not None  # noqa: S101 - both are pipes
        assert self.process.stdout is not None  # noqa: S101
        self.process.stdin.write(f"{part}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process of {self.name} has ended; its messages are above")
        return float(answer)


def measure(trees: Sequence[Tree], rounds: int) -> None:
    """Measure turns of all trees alternately, each round in the opposite order of the previous one."""
    for number in range(rounds):
        order = trees if number % 2 else trees[::-1]
        for tree in order:
            tree.turns.append(tree.measure("turn"))
        for tree in order:
            tree.model.append(tree.measure("model"))


def report(trees: Sequence[Tree]) -> str:
    """Return a table of the CPU times, and of their ratios to those of the first tree."""
    first = trees[0].own
    rows = []
    for tree in trees:
        ratios = sorted(own / before for own, before in zip(tree.own, first, strict=True))
        quarter = len(ratios) // 4
        rows.append(
            (
                tree.name,
                statistics.median(tree.turns),
                statistics.median(tree.model),
                statistics.median(tree.own),
                f"{statistics.median(tree.own) / statistics.median(first):.3f}",
                f"{statistics.median(ratios):.3f}",
                f"{ratios[quarter]:.3f} to {ratios[-1 - quarter]:.3f}",
            )
        )
    head = ["CPU ms, medians", "turn", "model alone", "own", "ratio", "median of ratios", "middle half"]
    return format_table(head, rows)


@contextmanager
def _running(name: str, root: Path, memory: str) -> Iterator[Tree]:
    """Start the process of a tree. It ends with the ``with`` block. Raises ``RuntimeError`` if it does not start."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [str(root / ".venv" / "bin" / "python"), "-P", str(PROCESS), memory]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=root, env=environment, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        if process.stdout.readline() != "ready\n":
            raise RuntimeError(f"the turns of {root} did not start")
        try:
            yield Tree(name, process)
        finally:
            if process.stdin is not None:
                process.stdin.close()  # makes the process end


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turn_cpu", description=__doc__)
    parser.add_argument("--against", type=Path, required=True, help="another source tree, after `make setup`")
    parser.add_argument("--memory", default="off,on", help="off, on (recall and inspector) or both (default: both)")
    parser.add_argument("--other-memory", default="", help="the same of the other tree (default: as it is configured)")
    parser.add_argument("--rounds", type=int, default=40, help="turns of each tree (default: %(default)s)")
    arguments = parser.parse_args()
    with ExitStack() as running:
        processes = [("the other tree", arguments.against.resolve(), arguments.other_memory)]
        processes += [(f"this tree, memory {memory}", ROOT, memory) for memory in arguments.memory.split(",")]
        trees = [running.enter_context(_running(*process)) for process in processes]
        measure(trees, arguments.rounds)
        print(f"Measured on {describe_machine()}, {arguments.rounds} turns each.\n")
        print(report(trees))


if __name__ == "__main__":
    main()
