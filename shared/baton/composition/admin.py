"""``python -m baton.composition.admin search ...``: commands for operators, with the environment of the functions."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from baton.composition import search_commands
from baton.domain.documents.search import IndexName
from baton.domain.errors import BatonError
from baton.entry.jobs.search_rebuild import REBUILT


def main(arguments: Sequence[str]) -> int:
    """Run one command, print its result as JSON and return the exit code: 1 after an error or a difference found."""
    args = _make_parser().parse_args(arguments)
    try:
        result = asyncio.run(_run(args))
    except BatonError as problem:
        print(f"{type(problem).__name__}: {problem}", file=sys.stderr)  # noqa: T201
        return 1
    print(json.dumps(result, indent=2))  # noqa: T201
    return 1 if any(not outcome.get("is_sound", True) for outcome in result) else 0


async def _run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    try:
        match arguments.command:
            case "migrate":
                return await search_commands.migrate()
            case "reindex":
                return await search_commands.reindex(arguments.index)
            case "rebuild":
                return [await search_commands.rebuild(arguments.index, arguments.tenant)]
            case "move":
                return [await search_commands.move(arguments.tenant, arguments.agent, arguments.user)]
            case "verify":
                return await search_commands.verify(arguments.tenant)
        return await search_commands.repair(arguments.tenant)
    finally:
        await search_commands.close()


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m baton.composition.admin", description=__doc__)
    search = parser.add_subparsers(required=True).add_parser("search", help="the search indices")
    commands = search.add_subparsers(dest="command", required=True)
    commands.add_parser("migrate", help="make the indices that are missing, and show the state of all")
    reindex = commands.add_parser("reindex", help="rebuild indices for the present model and release, without downtime")
    reindex.add_argument("index", nargs="*", choices=[[], *(index.value for index in IndexName)], help="all if none")
    rebuild = commands.add_parser("rebuild", help="index the stored documents and episodes that are not in the indices")
    rebuild.add_argument("index", nargs="*", choices=[[], *REBUILT], help="both if none")
    rebuild.add_argument("--tenant", action="append", default=[], help="a tenant to rebuild (repeatable), all if none")
    move = commands.add_parser("move", help="move owners from the embedded index to the OpenSearch beside it")
    move.add_argument("--tenant", action="append", default=[], help="a tenant to move (repeatable), all if none")
    move.add_argument("--agent", action="append", default=[], help="only this agent's documents (repeatable)")
    move.add_argument("--user", action="append", default=[], help="only this user's conversations (repeatable)")
    for name, text in (
        ("verify", "compare the indices with the stored episodes and documents; exit code 1 if they differ"),
        ("repair", "index what is missing, and delete what is not stored"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("--tenant", action="append", default=[], help="a tenant (repeatable), all if none")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
