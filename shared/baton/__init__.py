"""Baton: a serverless back end for conversations in which several AI agents take part."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("baton-conversations")
except PackageNotFoundError:  # the Lambda layer ships the package without its metadata
    __version__ = "0.1.0"
