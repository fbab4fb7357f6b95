"""`sam build` packs, without Docker, the files that the functions need."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from tests.infrastructure.bytecode import assert_compiled
from tests.infrastructure.stack import Stack

# What is packed of Baton itself changes often: test_shared_layer.py looks at that.
pytestmark = pytest.mark.nightly

MEGABYTE = 1024 * 1024
VOCABULARY = "fb374d419588a4632f3f557e76b4b70aebbca790"
VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
EXTRACTION = "ExtractionLayer"


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def layers_of(source: Stack, function: dict[str, Any]) -> list[str]:
    """The layers of the stack that the function has. The web adapter's is not one of them."""
    layers = [*source.template["Globals"]["Function"]["Layers"], *function.get("Layers", [])]
    return [layer["Ref"] for layer in layers if "Ref" in layer]


def test_a_function_and_its_layers_together_stay_under_lambdas_limit(build: Path, source: Stack) -> None:
    """250 MB unzipped; the rest is left for the web adapter and the packages of a project's tools."""
    for name, function in source.of_type("AWS::Serverless::Function").items():
        sizes = {item: size(build / item) // MEGABYTE for item in (name, *layers_of(source, function))}
        assert sum(sizes.values()) < 235, sizes


def test_the_libraries_that_read_documents_repeat_nothing_of_the_dependencies(build: Path) -> None:
    packages = [
        {path.name for path in (build / layer / "python").glob("*.dist-info")}
        for layer in ("DependenciesLayer", EXTRACTION)
    ]
    assert packages[1]
    assert not packages[0] & packages[1]


@pytest.mark.parametrize("layer", ["DependenciesLayer", EXTRACTION])
def test_a_layers_modules_are_packed_with_lambdas_bytecode(build: Path, layer: str) -> None:
    assert_compiled(build / layer)


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
        "tzdata",
        "uvicorn",
        "yaml",
    ],
)
def test_a_run_time_dependency_is_shipped(build: Path, package: str) -> None:
    assert (build / "DependenciesLayer/python" / package / "__init__.py").is_file()


@pytest.mark.parametrize("package", ["baton", "moto", "mypy", "pytest", "samcli", "samtranslator"])
def test_tools_and_the_library_itself_are_not_among_the_dependencies(build: Path, package: str) -> None:
    assert not (build / "DependenciesLayer/python" / package).exists()


AARCH64 = 183
"""The machine in the header of an ELF file (https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html)."""


def test_compiled_dependencies_are_for_lambda(build: Path) -> None:
    compiled = list((build / "DependenciesLayer").rglob("*.so"))
    assert any(path.name.startswith("_pydantic_core") for path in compiled)
    for path in compiled:
        with path.open("rb") as file:
            header = file.read(20)
        assert int.from_bytes(header[18:20], "little") == AARCH64, path.name
        assert "cpython-313" in path.name or "cpython" not in path.name, path.name


def test_tiktoken_finds_its_vocabulary(build: Path) -> None:
    """Lands in /opt/tokenizer, TIKTOKEN_CACHE_DIR."""
    content = (build / "SharedLayer/tokenizer" / VOCABULARY).read_bytes()
    assert hashlib.sha256(content).hexdigest() == VOCABULARY_SHA256
    assert (build / "SharedLayer/tokenizer" / "o200k_base.table").is_file()
    assert (build / "SharedLayer/tokenizer/NOTICE").is_file()


def test_every_handler_is_where_the_template_says(build: Path, source: Stack) -> None:
    for name, function in source.of_type("AWS::Serverless::Function").items():
        handler = function["Handler"]
        path = build / name / (handler if handler.endswith(".sh") else handler.replace(".handler", ".py"))
        assert path.is_file(), f"{name}: {handler}"


def test_the_web_adapter_can_start_streams(build: Path) -> None:
    assert os.access(build / "StreamsFunction/run.sh", os.X_OK)
    assert (build / "StreamsFunction/app.py").is_file()


def test_lambda_can_start_turns_under_the_supervisor(build: Path, source: Stack) -> None:
    function = source.of_type("AWS::Serverless::Function")["TurnsFunction"]
    wrapper = function["Environment"]["Variables"]["AWS_LAMBDA_EXEC_WRAPPER"].removeprefix("/var/task/")
    assert os.access(build / "TurnsFunction" / wrapper, os.X_OK)
    assert "/opt/python/baton/adapters/aws/supervisor.py" in (build / "TurnsFunction" / wrapper).read_text()
    assert (build / "SharedLayer/python/baton/adapters/aws/supervisor.py").is_file()
