"""The template as written, as CloudFormation will see it, and as `sam build` packs it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.infrastructure.stack import BUILD_INPUTS, ROOT, TOOLS, Stack, read_template, run, translate

BUILD_FOLDERS = ("agents", "extraction", "functions", "layers", "shared", "statemachines")
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
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`sam build`, once, on a copy of what it reads; the path of the built artifacts."""
    project = tmp_path_factory.mktemp("project")
    for name in BUILD_INPUTS:
        shutil.copy2(ROOT / name, project)
    for name in BUILD_FOLDERS:
        shutil.copytree(ROOT / name, project / name, ignore=shutil.ignore_patterns("__pycache__"))
    result = run(TOOLS / "sam", "build", cwd=project)
    assert result.returncode == 0, result.stderr
    return project / ".aws-sam" / "build"


@pytest.fixture(scope="session")
def shared_layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The layer of Baton's own code alone, as its makefile builds it."""
    folder = tmp_path_factory.mktemp(SHARED_LAYER)
    source = read_template()["Resources"][SHARED_LAYER]["Properties"]["ContentUri"]
    result = run("make", f"build-{SHARED_LAYER}", f"ARTIFACTS_DIR={folder}", cwd=ROOT / source)
    assert result.returncode == 0, result.stderr
    return folder
