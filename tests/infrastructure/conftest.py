"""The template as written, as CloudFormation will see it, and as `sam build` packs it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.infrastructure.stack import ROOT, TOOLS, Stack, read_template, run, translate

BUILD_INPUTS = ("template.yaml", "samconfig.toml", "pyproject.toml", "uv.lock", "README.md")
BUILD_FOLDERS = ("agents", "functions", "layers", "shared", "statemachines")


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
