"""The files of the Python client that are generated are those that the generator makes."""

from __future__ import annotations

from generation.__main__ import PACKAGE
from generation.generated import generate_modules


def test_what_is_generated_is_committed() -> None:
    texts = generate_modules(PACKAGE)
    differing = [str(path) for path, text in texts.items() if path.read_text() != text]
    assert differing == [], "Run `make client`."
    assert set(PACKAGE.glob("_generated/**/*.py")) == set(texts), "Delete what is generated no longer."
