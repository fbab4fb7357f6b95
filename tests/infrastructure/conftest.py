"""The template as written, and as CloudFormation will see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.infrastructure.stack import ROOT, Stack, read_template, run, translate

SHARED_LAYER = "SharedLayer"


@pytest.fixture(scope="session")
def source() -> Stack:
    """template.yaml as written."""
    return Stack(read_template())


@pytest.fixture(scope="session")
def stack() -> Stack:
    """The translated template, with every parameter at its default."""
    return Stack(translate(read_template()))


@pytest.fixture(scope="session")
def shared_layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The layer of Baton's own code alone, as its makefile builds it."""
    folder = tmp_path_factory.mktemp(SHARED_LAYER)
    source = read_template()["Resources"][SHARED_LAYER]["Properties"]["ContentUri"]
    result = run("make", f"build-{SHARED_LAYER}", f"ARTIFACTS_DIR={folder}", cwd=ROOT / source)
    assert result.returncode == 0, result.stderr
    return folder
