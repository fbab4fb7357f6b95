"""The layer of Baton's own code has the library and its agents, with bytecode."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import MAGIC_NUMBER
from pathlib import Path

import pytest

from baton_local.root import TOKENIZER
from tests.infrastructure.bytecode import UNCHECKED_HASH, assert_compiled
from tests.infrastructure.stack import ROOT


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_library_its_agents_and_the_vocabulary_are_shipped_and_nothing_else(shared_layer: Path) -> None:
    library = {
        f"python/{path.relative_to(folder.parent).as_posix()}"
        for folder in (ROOT / "shared/baton", ROOT / "extraction/baton_documents")
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    agents = {path.relative_to(ROOT).as_posix() for path in (ROOT / "agents").rglob("*") if path.is_file()}
    assert agents
    vocabulary = {f"tokenizer/{path.name}" for path in TOKENIZER.iterdir()}
    packed = {name for name in files(shared_layer) if "__pycache__" not in name}
    assert packed == library | agents | vocabulary


def test_its_modules_are_packed_with_lambdas_bytecode(shared_layer: Path) -> None:
    """Lambda can write none: without it every cold start compiles what it imports."""
    assert_compiled(shared_layer)


def compile_layer(folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run layers/compile.sh for this interpreter's version."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    environment = {"PATH": os.environ["PATH"], "LAYER_PYTHON": sys.executable, "PYTHON_VERSION": version} | settings
    return subprocess.run(
        ["sh", str(ROOT / "layers" / "compile.sh"), str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_bytecode_is_not_compared_with_its_source_at_import(tmp_path: Path) -> None:
    for name in ("python/package/module.py", "agents/support.py"):
        module = tmp_path / name
        module.parent.mkdir(parents=True)
        module.write_text("VALUE = 1\n")
    assert compile_layer(tmp_path).returncode == 0
    for name in ("python/package/module.py", "agents/support.py"):
        [bytecode] = ((tmp_path / name).parent / "__pycache__").iterdir()
        assert bytecode.read_bytes()[:8] == MAGIC_NUMBER + UNCHECKED_HASH
        assert f"/opt/{name}".encode() in bytecode.read_bytes()


COMPILED_METHODS = """
import inspect
import json
import pkgutil
import sys
from dataclasses import make_dataclass

def note(event, arguments):
    if event == "compile" and arguments[1] == "<string>":
        frame = sys._getframe(1)
        while frame.f_globals["__name__"] in ("dataclasses", "baton.composition.startup.dataclass_methods"):
            frame = frame.f_back
        compiled.add(frame.f_globals["__name__"])

compiled = set()
sys.addaudithook(note)
import baton.composition
import baton_documents
for package in (baton, baton_documents):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            __import__(module.name)
from baton.domain.tenants.identity import Scope
assert Scope("acme", "ada") == Scope("acme", "ada") != Scope("acme", "bob")
assert inspect.signature(Scope).return_annotation is None
other = make_dataclass("Other", [("count", int)])
assert inspect.signature(other).parameters["count"].annotation is int
own = sorted(name for name in compiled if name.startswith(("baton.", "baton_documents.")))
print(json.dumps([baton.__file__, *own]))
"""
INHERITED_FIELDS = ["baton.authoring.run_context", "baton.ports.agents.tools", "baton.turns.dry_run_ports"]
"""Modules with dataclasses that have fields of other ones."""


@pytest.mark.nightly
def test_methods_of_dataclasses_are_compiled_when_the_layer_is_built(tmp_path: Path) -> None:
    layer = tmp_path / "python"
    for source in (ROOT / "shared/baton", ROOT / "extraction/baton_documents"):
        shutil.copytree(source, layer / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    assert compile_layer(tmp_path).returncode == 0
    environment = {**os.environ, "PYTHONPATH": str(layer)}
    command = [sys.executable, "-c", COMPILED_METHODS]
    printed = subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout
    assert json.loads(printed) == [str(layer / "baton/__init__.py"), *INHERITED_FIELDS]


def test_a_missing_python_is_reported_and_refused_where_bytecode_is_required(tmp_path: Path) -> None:
    (tmp_path / "python").mkdir()
    without = compile_layer(tmp_path, PYTHON_VERSION="9.9", UV="false")
    assert (without.returncode, "No Python 9.9" in without.stderr) == (0, True)
    assert compile_layer(tmp_path, PYTHON_VERSION="9.9", UV="false", BATON_REQUIRE_BYTECODE="1").returncode == 1
