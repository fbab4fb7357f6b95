"""A demo script as its file is now."""

from __future__ import annotations

import logging
from pathlib import Path

from baton_local.demo_model.engine import Engine
from baton_local.demo_model.script import Script, ScriptError

logger = logging.getLogger("baton_local.demo_model")


class ScriptFile:
    """A script whose file is read again after an edit. An edit with mistakes leaves the previous script in use."""

    def __init__(self, path: Path) -> None:
        """Raises ``ScriptError`` if the script cannot be used."""
        self._path = path
        self._seen = self._read_state()
        self._engine = Engine(Script.read(path))

    def load_engine(self) -> Engine:
        """Return the engine of the newest script without mistakes. The mistakes of a newer edit are logged once."""
        state = self._read_state()
        if state != self._seen:
            self._seen = state
            try:
                self._engine = Engine(Script.read(self._path))
                print(f"Reloaded: {self._path.name}", flush=True)
            except ScriptError as problem:
                logger.warning("The demo model keeps the previous script: %s", problem)
        return self._engine

    def _read_state(self) -> tuple[int, int] | None:
        """Return the time of the last change, in nanoseconds, and the size in bytes; None if there is no file."""
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size
