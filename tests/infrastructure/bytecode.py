"""The bytecode that layers are packed with."""

from __future__ import annotations

from pathlib import Path

import pytest

MAGIC_OF_3_13 = (3571).to_bytes(2, "little") + b"\r\n"
UNCHECKED_HASH = (1).to_bytes(4, "little")
"""PEP 552's flags: validated by hash, which is not looked at."""


def assert_compiled(layer: Path) -> None:
    """Check that each module of a layer has bytecode for Lambda. Without a Python 3.13 there is none: skip."""
    modules = {path for path in (layer / "python").rglob("*.py") if path.stem.isidentifier()}
    compiled = {module: module.parent / "__pycache__" / f"{module.stem}.cpython-313.pyc" for module in modules}
    if not any(bytecode.is_file() for bytecode in compiled.values()):
        pytest.skip("there is no Python 3.13 on this machine, and sam build said so")
    for module, bytecode in compiled.items():
        assert bytecode.read_bytes()[:8] == MAGIC_OF_3_13 + UNCHECKED_HASH, module
