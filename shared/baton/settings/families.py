"""Every family of settings, for those who check or describe them all."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from baton import settings
from baton.settings.base import Settings


def all_families() -> list[type[Settings]]:
    """Return the families, of modules that nobody has imported yet too."""
    for module in iter_modules(settings.__path__):
        import_module(f"{settings.__name__}.{module.name}")
    return Settings.__subclasses__()
