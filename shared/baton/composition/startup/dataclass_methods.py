"""Take the methods of dataclasses from the layer, where they are compiled already.

Python writes the methods of each dataclass as text and compiles it when the module is imported: a sixth of a worker's
start (``benchmarks.cold_start``: 1.35 s before, 1.09 after, with less of botocore's data).
``layers/dataclass_methods.py`` writes the bytecode of these texts to a file among the bytecode of this package. A text
that is not in the file is compiled as ever, and so are all where there is no file, as in the local cloud.
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
    """Take the methods of dataclasses that are imported from now on from ``file``, if it exists."""
    try:
        compiled: dict[bytes, bytes] = marshal.loads(file.read_bytes())  # noqa: S302  the layer's, like its modules
    except FileNotFoundError:
        return

    def execute(text: str, names: dict[str, Any], results: dict[str, Any]) -> None:
        methods = compiled.get(blake2b(text.encode(), digest_size=16).digest())
        # Otherwise the import of annotations above would make strings of the fields' annotations.
        code = compile(text, "<string>", "exec", dont_inherit=True) if methods is None else marshal.loads(methods)  # noqa: S302
        builtins.exec(code, names, results)  # noqa: S102  as the module of dataclasses does

    vars(dataclasses)["exec"] = execute  # a module's global comes before a built-in of the same name
