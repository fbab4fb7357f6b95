"""``python -m generation``: write the generated modules of ``baton_client``."""

import shutil
from pathlib import Path

from generation.generated import generate_modules

PACKAGE = Path(__file__).parent.parent / "baton_client"

if __name__ == "__main__":
    texts = generate_modules(PACKAGE)
    shutil.rmtree(PACKAGE / "_generated", ignore_errors=True)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
