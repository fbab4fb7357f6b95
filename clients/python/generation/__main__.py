"""``python -m generation``: write the generated modules of ``baton_client``."""

from pathlib import Path

from generation.generated import generated

PACKAGE = Path(__file__).parent.parent / "baton_client"

if __name__ == "__main__":
    for path, text in generated(PACKAGE).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
