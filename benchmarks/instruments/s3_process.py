"""S3 in a separate process, so that the benchmark's CPU time excludes it.

The process is ``python -m benchmarks.instruments.s3_process``.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field

from baton_local.engines.moto import MotoServer
from baton_local.root import ROOT


@dataclass(slots=True)
class S3Process:
    """A moto server in a child process."""

    _process: subprocess.Popen[str] | None = field(default=None, init=False)

    def start(self) -> str:
        """Start the process, and return its endpoint URL. Raises ``RuntimeError`` if it does not start."""
        command = [sys.executable, "-m", "benchmarks.instruments.s3_process"]
        self._process = process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        endpoint = process.stdout.readline().strip()
        if not endpoint:
            self.stop()
            raise RuntimeError("The S3 server did not start.")
        return endpoint

    def stop(self) -> None:
        """End the process if it runs."""
        if self._process is not None:
            self._process.communicate()  # closes standard input, at whose end the process stops
            self._process = None


def main() -> None:
    """Serve until standard input ends, as it also does when the benchmark dies."""
    moto = MotoServer()
    print(moto.start(), flush=True)
    sys.stdin.read()
    moto.stop()


if __name__ == "__main__":
    main()
