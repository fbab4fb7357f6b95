"""Paths of the product's files: template, functions, layers, web clients, documentation."""

from pathlib import Path

_PACKED = Path(__file__).parent / "product"

ROOT = _PACKED if _PACKED.is_dir() else Path(__file__).parent.parent
"""The product tree of the distribution, or the root of the repository."""

TOKENIZER = ROOT / "layers" / "tokenizer"
"""The folder of the tokenizer's vocabulary (``TIKTOKEN_CACHE_DIR``)."""
