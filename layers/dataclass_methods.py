"""The methods of Baton's and the reader's dataclasses as bytecode: ``python dataclass_methods.py FOLDER_OF_PACKAGES``.

Python writes the methods of a dataclass as text and compiles it whenever the module is imported, which is a sixth of a
worker's start. This compiles the texts once, and ``composition.startup.dataclass_methods`` takes the results. A text
depends only on names and kinds of fields. So nothing is imported: each class is made again from its source, with its
fields alone. Classes that inherit fields are not worth more: Python compiles their methods as before.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import marshal
import sys
from dataclasses import KW_ONLY, InitVar, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

NAMES = {definition.__name__: definition for definition in (ClassVar, InitVar, dataclass, field)} | {"KW_ONLY": KW_ONLY}
"""Names that the sources of dataclasses refer to."""
PACKAGES = ("baton", "baton_documents")
NOTHING = ast.Constant(None)
NO_ARGUMENTS = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])


def main(folder: Path) -> None:
    """Write the bytecode of methods beside the package ``baton`` in ``folder``, by the hash of each text."""
    compiled: dict[bytes, bytes] = {}

    def execute(text: str, names: dict[str, Any], results: dict[str, Any]) -> None:
        # Otherwise the import of annotations above would make strings of the fields' annotations.
        code = compile(text, "<string>", "exec", dont_inherit=True)
        compiled[blake2b(text.encode(), digest_size=16).digest()] = marshal.dumps(code)
        builtins.exec(code, names, results)  # noqa: S102  as the module of dataclasses does

    vars(dataclasses)["exec"] = execute
    for path in sorted(path for name in PACKAGES for path in (folder / name).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ClassDef) and any(
                _refers_to(decorator, "dataclass") for decorator in node.decorator_list
            ):
                module = ast.fix_missing_locations(ast.Module([_with_fields_alone(node)], type_ignores=[]))
                code = compile(module, str(path), "exec")
                exec(code, {"__name__": __name__, **NAMES})  # noqa: S102  names and types alone
    target = folder / "baton" / "__pycache__" / f"dataclasses.{sys.implementation.cache_tag}"
    target.write_bytes(marshal.dumps(compiled))


def _refers_to(node: ast.expr, name: str) -> bool:
    """Return whether an expression is a name, or a call of it."""
    called = node.func if isinstance(node, ast.Call) else node
    return isinstance(called, ast.Name) and called.id == name


def _with_fields_alone(node: ast.ClassDef) -> ast.ClassDef:
    """Return the class with its fields and the names of its methods, without bases, values and code."""
    node.bases, node.keywords = [], []
    node.decorator_list = [decorator for decorator in node.decorator_list if _refers_to(decorator, "dataclass")]
    members: list[ast.stmt] = [ast.Pass()]
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef):
            members.append(ast.FunctionDef(statement.name, NO_ARGUMENTS, body=[ast.Pass()], decorator_list=[]))
        elif isinstance(statement, ast.AnnAssign):
            if isinstance(statement.value, ast.Call) and _refers_to(statement.value, "field"):
                for keyword in statement.value.keywords:
                    if keyword.arg == "default":
                        keyword.value = NOTHING
                    elif keyword.arg == "default_factory":
                        keyword.value = ast.Name("dict", ast.Load())
            elif statement.value is not None:
                statement.value = NOTHING
            members.append(statement)
    node.body = members
    return node


if __name__ == "__main__":
    main(Path(sys.argv[1]))
