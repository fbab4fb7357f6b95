"""The engines of the local cloud, which stand for AWS services."""

from typing import Protocol


class Engine(Protocol):
    """A local service that stands for one of AWS's."""

    def start(self) -> str:
        """Start the service and return its endpoint URL. Raises ``EngineFailed``."""

    def stop(self) -> None:
        """End the service. No error if it does not run."""
