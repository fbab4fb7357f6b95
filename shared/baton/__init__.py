"""Baton: a serverless back end for conversations in which several AI agents take part."""

from __future__ import annotations

__version__: str


def __getattr__(name: str) -> str:
    """Return ``__version__``. The metadata is read on demand, because reading it takes 50 ms."""
    if name != "__version__":
        raise AttributeError(name)
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("baton-conversations")
    except PackageNotFoundError:  # the Lambda layer ships the package without its metadata
        return "0.1.0"
