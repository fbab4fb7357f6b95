"""How many cases were generated in this session, and what happened in them."""

from __future__ import annotations

from collections import Counter

cases: Counter[str] = Counter()
"""By kind."""
faults: Counter[str] = Counter()


def summary() -> str:
    """Two sentences for people."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in cases.items())
    causes: Counter[str] = Counter()
    for name, count in faults.items():
        causes[name.rpartition(" ")[0] or name] += count
    happened = ", ".join(f"{count} {name}" for name, count in causes.most_common())
    return f"{cases.total()} cases ({kinds}), in which happened: {happened}."
