"""Measures conversation tests: ``python -m benchmarks.conversation_tests [--conversations 100] [--turns 3]``.

A new project's conversations are recorded of the demo model's script. Then ``baton test`` holds them from the cassette,
in separate processes, as continuous integration does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from baton_project.new import make
from benchmarks.report import machine, table

COMMAND = Path(sys.executable).with_name("baton")


def write_tests(folder: Path, conversations: int, turns: int) -> Path:
    """Write a file of conversations that differ in their words, with a tool in every turn but the first."""
    tests = [
        {
            "name": f"Conversation {number}",
            "steps": [
                {"say": f"Hello, I am customer {number}."},
                *(
                    {
                        "say": f"And where is order A-{1000 + (number + turn) % 7}?",
                        "expect": [{"consulted": "orders", "tool": "order_status", "says": "A-"}],
                    }
                    for turn in range(1, turns)
                ),
            ],
        }
        for number in range(conversations)
    ]
    path = folder / "tests" / "many.yaml"
    path.write_text(yaml.safe_dump({"conversations": tests}, sort_keys=False))
    return path


def run(folder: Path, path: Path, *options: str) -> tuple[float, dict[str, object]]:
    """Run the command. Returns the seconds on the wall, its start included, and its report."""
    began = time.perf_counter()
    done = subprocess.run(
        [str(COMMAND), "test", str(path), "--json", *options], cwd=folder, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        sys.exit(f"The tests did not pass:\n{done.stdout[-2000:]}{done.stderr}")
    report: dict[str, object] = json.loads(done.stdout)
    return seconds, report


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--conversations", type=int, default=100)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "many-tests"
        make(folder)
        path = write_tests(folder, options.conversations, options.turns)
        recording, _ = run(folder, path, "--model", "scripted", "--record")
        rows = []
        for jobs in ("1", "2"):
            seconds, report = run(folder, path, "--model", "recorded", "--jobs", jobs)
            rows.append((f"recorded, {jobs} processes", seconds, report["seconds"]))
        print(machine())
        print(f"{options.conversations} conversations of {options.turns} turns; recording took {recording:.1f} s\n")
        print(table(("", "seconds in all", "without the start"), rows))


if __name__ == "__main__":
    main()
