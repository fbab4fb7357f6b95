"""A build hook of hatchling that adds the product's tree to the wheel, for deployments and the local cloud."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PRODUCT = "baton_local/product"
"""The folder in the wheel."""
FILES = (
    "LICENSE",
    "README.md",
    "account.yaml",
    "clients/web/package.json",
    "pyproject.toml",
    "samconfig.toml",
    "shared/Makefile",
    "template.yaml",
    "uv.lock",
)
FOLDERS = (
    "clients/web/console/dist",
    "clients/web/dist",
    "docs/explanation",
    "docs/how-to",
    "docs/reference",
    "docs/tutorial",
    "functions",
    "layers",
    "statemachines",
)
BUILT = ("clients/web/dist/baton-chat.js", "clients/web/console/dist/index.html")


class ProductTree(BuildHookInterface[Any]):
    """A build step that adds the product tree to a wheel. An editable install uses the checkout's files."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to a standard wheel, and nothing to others.

        Raises ``FileNotFoundError`` if the web clients are not built.
        """
        if self.target_name != "wheel" or version != "standard":
            return
        root = Path(self.root)
        for name in BUILT:
            if not (root / name).is_file():
                raise FileNotFoundError(f"{name} is not there, so the wheel would lack it: run `make web` first.")
        build_data["force_include"] |= {str(root / name): f"{PRODUCT}/{name}" for name in list_product_files(root)}


def list_product_files(root: Path) -> Iterator[str]:
    """Yield the paths of the product tree below ``root``.

    Source maps are left out: they would be an eighth of the wheel, and developers of the web clients have a clone.
    """
    yield from FILES
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".map":
                yield path.relative_to(root).as_posix()
