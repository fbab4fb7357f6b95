"""Compiled methods of dataclasses, which are read from the layer.

Python writes the methods of each dataclass as text, and compiles the text when the module is imported. This takes a
sixth of a worker's start (``benchmarks.cold_start``: 1.35 s before, 1.09 after, with less of botocore's data).
``layers/dataclass_methods.py`` writes the bytecode of these texts to a file beside the bytecode of this package. Texts
that are not in the file are compiled as usual. Without the file, as in the local cloud, all texts are.
"""

from __future__ import annotations

import builtins
import dataclasses
import marshal
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "__pycache__" / f"dataclasses.{sys.implementation.cache_tag}"


def take_compiled(file: Path = FILE) -> None:
    """Use the compiled methods in ``file``, if it exists, for dataclasses whose modules are imported later."""
    try:
        compiled: dict[bytes, bytes] = marshal.loads(file.read_bytes())  # noqa: S302  the layer's, like its modules
    except FileNotFoundError:
        return

    def execute(text: str, names: dict[str, Any], results: dict[str, Any]) -> None:
        methods = compiled.get(blake2b(text.encode(), digest_size=16).digest())
        # With ``dont_inherit``, the import of annotations above does not turn the fields' annotations into strings.
        code = compile(text, "<string>", "exec", dont_inherit=True) if methods is None else marshal.loads(methods)  # noqa: S302
        builtins.exec(code, names, results)  # noqa: S102  as the module of dataclasses does

    vars(dataclasses)["exec"] = execute  # a module's global variable hides the built-in of the same name
