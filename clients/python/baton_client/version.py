"""This package's version."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("baton-client")
except PackageNotFoundError:  # a copy of the folder, not an installation
    VERSION = "unknown"
