"""Use cases are joined in one place, so that a new port is added in one place too."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import pytest

from baton.composition import app, knowledge, limits, memory, parts, privacy, self_started, sessions
from baton.composition.app import build
from baton.composition.ports import Ports
from baton_testing.fakes.ports import MemoryPorts
from tests.fakes.ports import FAKED, FakePorts
from tests.harness.use_cases import use_cases

ROOT = Path(__file__).parents[3]
WIRING = [Path(str(module.__file__)) for module in (app, knowledge, limits, memory, privacy, self_started, sessions)]
PARTS = parts._find_modules()
PROGRAMS = (
    "shared",
    "functions",
    "baton_deployment",
    "baton_local",
    "baton_project",
    "baton_testing",
    "benchmarks",
    "tests",
)


def find_imports(tree: ast.Module) -> dict[str, str]:
    """Names that a module imports from Baton, wherever in it, and what each is in full."""
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("baton")
        for alias in node.names
    }


def find_constructed(path: Path, *expected: str) -> Iterator[str]:
    """In full, each imported name that the module calls, as in ``Turns(...)`` or ``turns.Turns(...)``.

    A module that has no call of the ``wanted`` names in its text need not be parsed.
    """
    text = path.read_text()
    if expected and not re.search(rf"\b({'|'.join(expected)})\(", text):
        return
    tree = ast.parse(text)
    names = find_imports(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(name) if name in names:
                    yield names[name]
                case ast.Attribute(ast.Name("parts"), name) if name in PARTS and names.get("parts") == parts.__name__:
                    yield f"{PARTS[name]}.{name}"
                case ast.Attribute(ast.Name(module), name) if module in names:
                    yield f"{names[module]}.{name}"


def test_every_use_case_is_constructed_by_the_wiring_and_nowhere_else() -> None:
    joined = {name for path in WIRING for name in find_constructed(path) if name.rpartition(".")[2][0].isupper()}
    joined -= {name for name in joined if name.startswith("baton.composition.")}
    assert {
        "baton.turns.turns.Turns",
        "baton.turns.turn_services.TurnServices",
        "baton.entry.jobs.sweep.Sweeper",
    } <= joined
    expected = sorted({name.rpartition(".")[2] for name in joined})
    elsewhere = {
        (str(path.relative_to(ROOT)), name)
        for program in PROGRAMS
        for path in (ROOT / program).rglob("*.py")
        if path not in WIRING
        for name in find_constructed(path, *expected)
        if name in joined
    }
    assert elsewhere == set()


@pytest.mark.parametrize("name", PARTS)
def test_every_part_can_be_imported(name: str) -> None:
    assert getattr(parts, name) is not None


def test_the_parts_are_all_that_is_imported_for_type_checkers() -> None:
    block = next(node for node in ast.parse(Path(parts.__file__).read_text()).body if isinstance(node, ast.If))
    named = [alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(named) == sorted(PARTS)


def test_a_part_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Turnz"):
        _ = parts.Turnz  # type: ignore[attr-defined]


def test_the_programs_are_where_they_are_looked_for() -> None:
    assert all(any((ROOT / program).rglob("*.py")) for program in PROGRAMS)


def test_the_fakes_replace_every_port_that_a_use_case_needs() -> None:
    """Otherwise a test would reach for a deployment's."""
    ports = FakePorts()
    built = build(ports)
    for path in use_cases():
        attrgetter(path)(built)
    assert set(vars(ports)) <= {*FAKED, "context_lengths"}


def test_baton_test_ships_the_fakes_of_all_ports_that_a_conversation_needs() -> None:
    options = {"clock", "shipped_agents", "model", "tools", "counter", "default_model", "light_model"}
    fakes = FakePorts()
    ports = MemoryPorts(**{name: getattr(fakes, name) for name in options})
    built = build(ports)
    for path in ("turns", "queued_turns", "closer", "controls", "sweeper", "memory.session_closing"):
        attrgetter(path)(built)
    shipped = {name for name in dir(Ports) if getattr(MemoryPorts, name) is not getattr(Ports, name)}
    assert set(vars(ports)) <= shipped | options | {"context_lengths"}


@pytest.mark.parametrize("path", list(use_cases()))
def test_a_use_case_needs_nothing_but_ports_and_is_built_once(path: str) -> None:
    built = build(FakePorts())
    of = attrgetter(path)
    assert of(built) is of(built)
