"""A package, so that pytest ends the local cloud of ``conftest.py`` before it runs tests of other folders."""
