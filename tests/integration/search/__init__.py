"""A package, so that pytest ends the OpenSearch of ``conftest.py`` before it runs tests of other folders."""
