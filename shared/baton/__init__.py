"""Baton: a serverless back end for conversations in which several AI agents take part."""

from __future__ import annotations

__version__: str


def __getattr__(name: str) -> str:
    """Return ``__version__``. The metadata is read when it is asked for, because that takes 50 ms of each start."""
    if name != "__version__":
        raise AttributeError(name)
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("baton-conversations")
    except PackageNotFoundError:  # the Lambda layer ships the package without its metadata
        return "0.1.0"
