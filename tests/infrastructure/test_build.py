"""What `sam build` packs, without Docker, is what the functions need."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from tests.infrastructure.stack import ROOT, Stack

MEGABYTE = 1024 * 1024
VOCABULARY = "fb374d419588a4632f3f557e76b4b70aebbca790"
VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
LAYERS = ("DependenciesLayer", "SharedLayer", "TokenizerLayer")


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_functions_and_layers_together_stay_under_lambdas_limit(build: Path, source: Stack) -> None:
    """250 MB unzipped for a function and all its layers; a tenth is left for the web adapter."""
    layers = sum(size(build / layer) for layer in LAYERS)
    for function in source.of_type("AWS::Serverless::Function"):
        assert layers + size(build / function) < 225 * MEGABYTE


def test_the_library_and_its_agents_are_shipped_and_nothing_else(build: Path) -> None:
    library = {
        f"python/baton/{path.relative_to(ROOT / 'shared/baton').as_posix()}"
        for path in (ROOT / "shared/baton").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    agents = {path.relative_to(ROOT).as_posix() for path in (ROOT / "agents").rglob("*") if path.is_file()}
    assert agents
    assert files(build / "SharedLayer") == library | agents


@pytest.mark.parametrize(
    "package",
    [
        "ag_ui",
        "aws_lambda_powertools",
        "boto3",
        "fastapi",
        "httpx",
        "jwt",
        "mangum",
        "openai",
        "pydantic",
        "tiktoken",
        "uvicorn",
        "yaml",
    ],
)
def test_a_run_time_dependency_is_shipped(build: Path, package: str) -> None:
    assert (build / "DependenciesLayer/python" / package / "__init__.py").is_file()


@pytest.mark.parametrize("package", ["baton", "moto", "mypy", "pytest", "samcli", "samtranslator"])
def test_tools_and_the_library_itself_are_not_among_the_dependencies(build: Path, package: str) -> None:
    assert not (build / "DependenciesLayer/python" / package).exists()


def test_compiled_dependencies_are_for_lambda(build: Path) -> None:
    compiled = [path.name for path in (build / "DependenciesLayer").rglob("*.so")]
    assert any(name.startswith("_pydantic_core") for name in compiled)
    for name in compiled:
        assert "aarch64-linux-gnu" in name or ".abi3." in name, name
        assert "cpython-313" in name or ".abi3." in name, name


def test_tiktoken_finds_its_vocabulary(build: Path) -> None:
    """Lands in /opt/tokenizer, TIKTOKEN_CACHE_DIR."""
    content = (build / "TokenizerLayer/tokenizer" / VOCABULARY).read_bytes()
    assert hashlib.sha256(content).hexdigest() == VOCABULARY_SHA256
    assert (build / "TokenizerLayer/tokenizer/NOTICE").is_file()


def test_every_handler_is_where_the_template_says(build: Path, source: Stack) -> None:
    for name, function in source.of_type("AWS::Serverless::Function").items():
        handler = function["Handler"]
        path = build / name / (handler if handler.endswith(".sh") else handler.replace(".handler", ".py"))
        assert path.is_file(), f"{name}: {handler}"


def test_the_web_adapter_can_start_streams(build: Path) -> None:
    assert os.access(build / "StreamsFunction/run.sh", os.X_OK)
    assert (build / "StreamsFunction/app.py").is_file()
