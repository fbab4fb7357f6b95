"""Records what a release stores: ``python -m tests.upgrade record``. docs/how-to/release.md has the steps around it."""

from __future__ import annotations

import argparse
import sys

from tests.upgrade.trees import PreviousRelease, ReleaseMissing
from tests.upgrade.two_releases import record, record_schemas


def main(arguments: list[str]) -> None:
    """Carry out the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.upgrade")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record", help="run the previous release, and record what it stores")
    parser.parse_args(arguments)
    release = PreviousRelease.read()
    tree = release.make_tree()
    release.schemas.write_text(record_schemas(tree))
    recording = record(tree)
    recording.write(release.record)
    print(f"{release.record}: {len(recording.items)} items and {len(recording.events)} events")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ReleaseMissing as problem:
        sys.exit(str(problem))
