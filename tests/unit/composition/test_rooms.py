"""The library's folders stay small: few names at the top, few modules in a folder, few class names that repeat."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from pathlib import Path

import baton

LIBRARY = Path(baton.__file__).parent
NAMES_AT_THE_TOP = 16
MODULES_IN_A_FOLDER = 22
SHARED_CLASS_NAMES = 20
"""Names of public classes that stand in two or more modules. Another one needs a name that says what it is here."""


def test_the_library_has_few_names_at_its_top() -> None:
    names = {path.name for path in LIBRARY.iterdir() if path.suffix in ("", ".py") and path.name[0] != "_"}
    assert len(names) <= NAMES_AT_THE_TOP, sorted(names)


def test_no_folder_has_many_modules() -> None:
    folders = Counter(path.parent.relative_to(LIBRARY).as_posix() for path in LIBRARY.rglob("*.py"))
    assert {folder: count for folder, count in folders.items() if count > MODULES_IN_A_FOLDER} == {}


def test_few_public_classes_share_their_name() -> None:
    modules: dict[str, list[str]] = defaultdict(list)
    for path in LIBRARY.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and node.name[0] != "_":
                modules[node.name].append(path.relative_to(LIBRARY).as_posix())
    shared = {name: places for name, places in modules.items() if len(places) > 1}
    assert len(shared) <= SHARED_CLASS_NAMES, shared
