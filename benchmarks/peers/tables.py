"""The tables of results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.instruments.report import format_table
from benchmarks.peers.catalogue import Peer
from benchmarks.peers.scenarios import Conversation, Kill, Repeat, Writers

CONVERSATIONS = 1_000


@dataclass
class Result:
    """The results of one peer. None means that a scenario was not reached, for the reason in ``problem``."""

    peer: Peer
    conversation: Conversation | None = None
    writers: Writers | None = None
    kill: Kill | None = None
    repeat: Repeat | None = None
    problem: str = ""


def format_costs(results: Iterable[Result]) -> str:
    """Return a table of the storage of a conversation, and of the price of ``CONVERSATIONS`` conversations."""
    rows: list[tuple[object, ...]] = []
    for result in results:
        if (conversation := result.conversation) is None:
            rows.append((result.peer.name, "-", "-", "-", "-", "-"))
        elif not result.peer.has_metered_store:
            rows.append((result.peer.name, "none", "none", "none", "none", "none"))
        else:
            usage = conversation.usage
            s3 = f"{usage.s3_writes:,} / {usage.s3_reads:,}"
            usd = f"{CONVERSATIONS * usage.usd:,.2f}"
            rows.append((result.peer.name, usage.count, usage.write_units, usage.read_units, s3, usd))
    head = ["", "requests", "write units", "read units", "S3 put and list / get", f"USD, {CONVERSATIONS:,} such"]
    return format_table(head, rows)


def format_times(results: Sequence[Result]) -> str:
    """Return a table of the median times to the first token and of whole turns, without and with the delay."""
    rows = []
    for result in results:
        cells = ["-"] * 4
        if result.conversation is not None:
            cells = []
            for plain, delayed in (result.conversation.at_ten, result.conversation.at_end):
                cells.append(f"{plain.first * 1000:.0f} / {delayed.first * 1000:.0f}")
                cells.append(f"{plain.whole * 1000:.0f} / {delayed.whole * 1000:.0f}")
        rows.append((result.peer.name, *cells))
    last = next((result.conversation.turns for result in results if result.conversation), 0)
    head = ["ms, without / with the delay", "first, turn 10", "whole, turn 10"]
    return format_table([*head, f"first, turn {last}", f"whole, turn {last}"], rows)


def format_faults(results: Iterable[Result]) -> str:
    """Return a table of the outcomes of two writers, a kill and a repeated message."""
    rows: list[tuple[object, ...]] = []
    for result in results:
        writers, kill, repeat = result.writers, result.kill, result.repeat
        if writers is None or kill is None or repeat is None:
            rows.append((result.peer.name, *["-"] * 7))
            continue
        lost = (
            4 * writers.rounds - min(writers.questions, 2 * writers.rounds) - min(writers.answers, 2 * writers.rounds)
        )
        errors = f" ({writers.errors} got an error)" if writers.errors else ""
        rows.append(
            (
                result.peer.name,
                f"{lost} of {4 * writers.rounds}{errors}",
                "yes" if kill.question else "no",
                kill.answer,
                kill.next_turn,
                repeat.questions,
                repeat.answers,
                repeat.model_answers,
            )
        )
    killed = [f"killed: {what}" for what in ("question stored", "answer stored", "next message")]
    twice = [f"twice: {what}" for what in ("questions stored", "answers stored", "asked of the model")]
    return format_table(["", "two writers: messages lost", *killed, *twice], rows)
