"""Hold one scripted conversation with Baton and with other projects: ``python -m benchmarks.peers``.

All projects use the same model, which answers without delay, and the same DynamoDB Local and local S3 behind a proxy
that counts requests. Each project runs in its own environment under ``.baton/peers``, which uv creates.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from benchmarks.instruments.report import describe_machine, format_table
from benchmarks.peers import scenarios
from benchmarks.peers.catalogue import PEERS, Peer
from benchmarks.peers.setting import in_setting, setting
from benchmarks.peers.tables import Result, format_costs, format_faults, format_times

TURNS = 100
ROUNDS = 5


def measure(peers: Sequence[Peer], turns: int = TURNS, rounds: int = ROUNDS) -> list[Result]:
    """Return the results of each peer. The result of a peer that fails has a ``problem``."""
    results = []
    with setting() as shared:
        for peer in peers:
            print(f"{datetime.now(UTC):%H:%M:%S} {peer.name}", file=sys.stderr)
            results.append(result := Result(peer))
            try:
                with in_setting(peer, shared) as running:
                    result.conversation = scenarios.hold_conversation(running, turns)
                    result.repeat = scenarios.send_twice(running)
                    result.writers = scenarios.write_at_once(running, rounds)
                    result.kill = scenarios.kill_in_mid_answer(running)
            except RuntimeError as problem:
                result.problem = str(problem)
    return results


def report(results: Sequence[Result]) -> str:
    """Return all tables."""
    versions = format_table(
        ["", "version", "stored in"], [(r.peer.name, r.peer.find_version(), r.peer.stored_in) for r in results]
    )
    problems = "".join(f"\n{r.peer.name} was not measured to the end: {r.problem}" for r in results if r.problem)
    return (
        "\n\n".join([versions, format_costs(results), format_times(results), format_faults(results)]) + "\n" + problems
    )


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--peers", help="comma-separated parts of names, such as baton,langgraph (default: all)")
    parser.add_argument(
        "--turns", type=int, default=TURNS, help="turns of the conversation, at least 25 (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of two writers (default: %(default)s)")
    arguments = parser.parse_args()
    words = [word.strip().lower() for word in (arguments.peers or "").split(",")]
    peers = [peer for peer in PEERS if any(word in peer.name.lower() for word in words)]
    unknown = [word for word in words if not any(word in peer.name.lower() for peer in PEERS)]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}. Peers are: {'; '.join(peer.name for peer in PEERS)}")
    if arguments.turns < 25 or arguments.rounds < 1:
        parser.error("--turns must be at least 25 and --rounds at least 1")
    print(f"Measured on {datetime.now(UTC):%Y-%m-%d}, {describe_machine()}.\n")
    print(report(measure(peers, arguments.turns, arguments.rounds)))


if __name__ == "__main__":
    main()
