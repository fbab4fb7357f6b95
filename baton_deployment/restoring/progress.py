"""The progress of a restore, in a file with which a repetition of the command continues."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from baton_deployment.errors import DeploymentError
from baton_deployment.restoring.choice import Choice
from baton_deployment.restoring.counts import Counts
from baton_deployment.restoring.restored_table import RestoredTable


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an interrupted restore."""

    counts: Counts
    position: Mapping[str, str]
    tenants: frozenset[str]


@dataclass(frozen=True, slots=True)
class ProgressFile:
    """The file of one restore. It has keys and counts, but no content."""

    path: Path
    live: str
    source: RestoredTable
    choice: Choice

    def read(self) -> Progress | None:
        """Return the progress of an interrupted restore of the same data with the same choice, or None.

        Raises ``DeploymentError`` if the file cannot be read.
        """
        try:
            stored = json.loads(self.path.read_text(encoding="utf-8"))
            if stored["restore"] != self._identity:
                return None
            return Progress(Counts.of_json(stored["counts"]), stored["position"], frozenset(stored["tenants"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as problem:
            raise DeploymentError(
                f"{self.path} with the progress of an earlier restore cannot be read: {problem!r}. Repeat the command "
                "with --from-start, which ignores it."
            ) from problem

    def write(self, progress: Progress) -> None:
        """Replace the file atomically."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = {
            "restore": self._identity,
            "counts": progress.counts.as_json(),
            "position": dict(progress.position),
            "tenants": sorted(progress.tenants),
        }
        unfinished = self.path.with_suffix(".new")
        unfinished.write_text(json.dumps(content), encoding="utf-8")
        unfinished.replace(self.path)

    def remove(self) -> None:
        """Remove the file, because the restore is complete or begins again."""
        self.path.unlink(missing_ok=True)

    @property
    def _identity(self) -> dict[str, Any]:
        choice = {name: value for name, value in asdict(self.choice).items() if name != "rate"}
        return {"live": self.live, "source": self.source.name, "at": self.source.at.isoformat(), **choice}
