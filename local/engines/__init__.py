"""The engines behind the local cloud: each starts on a free port, answers a real call, and surely ends."""

from typing import Protocol


class Engine(Protocol):
    """A service that stands for one of AWS's."""

    def start(self) -> str:
        """Start it and return its endpoint URL. Raises ``EngineFailed``."""

    def stop(self) -> None:
        """End it. Harmless when it does not run."""
